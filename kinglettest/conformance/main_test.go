package conformance_test

import (
	"testing"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	// What is logged is not what is tested, and there is much of it.
	klog.SetLogger(klog.New(nil))
	goleak.VerifyTestMain(m)
}

package workqueue

import (
	"os"
	"testing"

	"go.uber.org/goleak"
	kw "k8s.io/client-go/util/workqueue"
)

// withoutProvider is set in a process in which client-go has no provider.
const withoutProvider = "KINGLET_WORKQUEUE_NO_PROVIDER"

// clientGos is the provider that client-go's package has in these tests.
var clientGos = newRecorder()

func TestMain(m *testing.M) {
	if os.Getenv(withoutProvider) == "" {
		kw.SetProvider(clientGos)
	}
	goleak.VerifyTestMain(m)
}

//go:build deps

package main

// What the suites' tests import beyond what the packages themselves do, for
// go.mod: go mod tidy looks at no tests but ours.
import (
	_ "github.com/google/go-cmp/cmp/cmpopts"
	_ "github.com/kinglet-go/kinglet/cache"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/stretchr/testify/require"
	_ "go.uber.org/goleak"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/api/equality"
	_ "k8s.io/client-go/features/testing"
	_ "k8s.io/client-go/tools/cache/testing"
	_ "k8s.io/klog/v2/ktesting"
	_ "k8s.io/klog/v2/textlogger"
	_ "k8s.io/utils/clock/testing"
	_ "k8s.io/utils/ptr"
	_ "sigs.k8s.io/randfill"
)

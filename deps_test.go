package kinglet
import (
	_ "go.uber.org/goleak"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/tools/cache"
	_ "k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/metadata"
	_ "k8s.io/client-go/util/flowcontrol"
	_ "github.com/cockroachdb/datadriven"
	_ "sigs.k8s.io/randfill"
	_ "k8s.io/utils/ptr"
	_ "github.com/google/go-cmp/cmp"
)

package main

// A suite is a set of tests that was written for client-go.
type suite struct {
	name     string
	packages []string // by import path
	// outside is for client-go's own tests, which are in the package that they
	// test. They are cut to what compiles outside of it.
	outside bool
	// cluster is for tests that need a control plane, by the environment
	// variables of controller-runtime's envtest.
	cluster bool
	// specs is the one test of a package which runs all of its Ginkgo specs. Each
	// of these counts as a test.
	specs string
	// hooked is the version of controller-runtime whose tests run, as they are, over
	// module ctrlruntime: see hooked.go. line is that of module cache which goes with
	// it, empty for the folder's own.
	hooked, line string
	// queue is for the tests of controller-runtime's priority queue: see hookedqueue.go.
	queue bool
	// focus selects specs of a hooked suite, all if empty.
	focus string
	// client is for a hooked suite whose clients are to be the module's, defaults for
	// one whose managers and controllers are to have the module's client and queue by
	// default.
	client, defaults bool
	// operator is of the suites that are made from operators.go: over kinglet, with these
	// edits, or plain, without it.
	operator *operator
	copied   []edit
	plain    bool
	starts   bool // no tests, its program is started
	// beside are the tests of a hooked suite beside its specs.
	beside []string
}

// overDefaults returns the suite of a package of controller-runtime 0.25 that makes
// managers, clusters or controllers.
func overDefaults(name, specs string, beside ...string) suite {
	return suite{
		name:     "ctrlruntime/0.25/" + name,
		packages: []string{controllerRuntime + "pkg/" + name},
		cluster:  true,
		specs:    specs,
		hooked:   "v0.25.2",
		defaults: true,
		beside:   beside,
	}
}

// The order is that of the output.
var suites = []suite{
	{
		name:     "client-go/cache",
		packages: []string{clientGoCache},
		outside:  true,
	},
	{
		name:     "client-go/workqueue",
		packages: []string{clientGoQueue},
		outside:  true,
	},
	{
		name: "client-go/neighbours",
		packages: []string{
			"k8s.io/client-go/dynamic/dynamicinformer",
			"k8s.io/client-go/dynamic/dynamiclister",
			"k8s.io/client-go/kubernetes_test",
			"k8s.io/client-go/metadata/metadatainformer",
			"k8s.io/client-go/metadata/metadatalister",
			"k8s.io/client-go/tools/watch",
			"k8s.io/client-go/util/certificate/csr",
		},
	},
	{
		name: "endpointslice",
		packages: []string{
			"k8s.io/endpointslice",
			"k8s.io/endpointslice/util",
		},
	},
	{
		name: "apiserver",
		packages: []string{
			"k8s.io/apiserver/pkg/admission/configuration",
			"k8s.io/apiserver/pkg/admission/initializer",
			"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle",
			"k8s.io/apiserver/pkg/admission/plugin/policy/generic",
			"k8s.io/apiserver/pkg/admission/plugin/policy/internal/generic",
			"k8s.io/apiserver/pkg/admission/plugin/policy/mutating",
			"k8s.io/apiserver/pkg/admission/plugin/policy/validating",
			"k8s.io/apiserver/pkg/admission/plugin/resourcequota",
			"k8s.io/apiserver/pkg/admission/plugin/webhook/generic",
			"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating",
			"k8s.io/apiserver/pkg/admission/plugin/webhook/validating",
			"k8s.io/apiserver/pkg/authentication/request/headerrequest",
			"k8s.io/apiserver/pkg/quota/v1/generic",
			"k8s.io/apiserver/pkg/server/dynamiccertificates",
			"k8s.io/apiserver/pkg/util/flowcontrol",
			"k8s.io/apiserver/pkg/util/peerproxy",
			"k8s.io/apiserver/pkg/util/proxy",
		},
	},
	{
		name: "apiserver/cacher",
		packages: []string{
			"k8s.io/apiserver/pkg/storage/cacher",
			"k8s.io/apiserver/pkg/storage/cacher/store",
		},
	},
	{
		name: "kube-aggregator",
		packages: []string{
			"k8s.io/kube-aggregator/pkg/apiserver",
			"k8s.io/kube-aggregator/pkg/controllers/autoregister",
			"k8s.io/kube-aggregator/pkg/controllers/status/local",
			"k8s.io/kube-aggregator/pkg/controllers/status/remote",
		},
	},
	{
		name:     "controller-runtime/cache",
		packages: []string{controllerRuntime + "pkg/cache"},
		cluster:  true,
		specs:    "TestSource",
	},
	{
		name:     "ctrlruntime/0.25",
		packages: []string{controllerRuntime + "pkg/cache"},
		cluster:  true,
		specs:    "TestSource",
		hooked:   "v0.25.2",
	},
	{
		name:     "ctrlruntime/0.24",
		packages: []string{controllerRuntime + "pkg/cache"},
		cluster:  true,
		specs:    "TestSource",
		hooked:   "v0.24.1",
		line:     "0.36",
	},
	overDefaults("builder", "TestBuilder"),
	overDefaults("cluster", "TestSource"),
	overDefaults("controller", "TestSource"),
	overDefaults("internal/controller", "TestSource"),
	overDefaults("manager", "TestSource", "TestWarmupFunctionIsExecutedWhenWarmupGroupIsStarted"),
	overDefaults("source", "TestSource"),
	{
		name:     "ctrlruntime/0.25/queue",
		packages: []string{controllerRuntime + queueFolder},
		specs:    "TestControllerWorkqueue",
		hooked:   "v0.25.2",
		queue:    true,
	},
	{
		name:     "ctrlruntime/0.24/queue",
		packages: []string{controllerRuntime + queueFolder},
		specs:    "TestControllerWorkqueue",
		hooked:   "v0.24.1",
		line:     "0.36",
		queue:    true,
	},
	{
		name:     "ctrlruntime/consistency",
		packages: []string{controllerRuntime + "pkg/client"},
		cluster:  true,
		specs:    "TestClient",
		hooked:   "v0.25.2",
		focus:    "ConsistentClient",
	},
	{
		name:     "ctrlruntime/client",
		packages: []string{controllerRuntime + "pkg/client"},
		cluster:  true,
		specs:    "TestClient",
		hooked:   "v0.25.2",
		focus:    "ConsistentClient",
		client:   true,
	},
}

// controllerRuntime is what the import paths of its packages begin with.
const controllerRuntime = "sigs.k8s.io/controller-runtime/"

// The import paths that are swapped, and what they become.
const (
	clientGoCache = "k8s.io/client-go/tools/cache"
	clientGoQueue = "k8s.io/client-go/util/workqueue"
	kingletCache  = "github.com/kinglet-go/kinglet/cache"
	kingletQueue  = "github.com/kinglet-go/kinglet/workqueue"

	kingletCtrlruntime = "github.com/kinglet-go/kinglet/ctrlruntime"
)

var dropIns = map[string]string{
	clientGoCache: kingletCache,
	clientGoQueue: kingletQueue,
}

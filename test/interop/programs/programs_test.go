//go:build e2e

package programs

import (
	"context"
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/test/interop/programs/website"
)

var program = flag.String("cluster", "", "the kinglet-cluster program; built if empty")

func TestMain(m *testing.M) {
	flag.Parse()
	ctrllog.SetLogger(klog.Background())
	goleak.VerifyTestMain(m)
}

// One control plane for all, one after the other: each finds what the one
// before has left behind, as in real life.
func TestProgramsWithOneImportChangedWorkOnARealControlPlane(t *testing.T) {
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program, Nodes: 5})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s := newServer(ctx, cluster.Config(t))
	// First, so that the garbage collector has heard of Websites when the
	// first of them is deleted: it looks for new kinds every 30 s.
	s.define(t, must(website.Definition()))

	for _, p := range []struct {
		name string
		run  func(*testing.T, *server, *kinglettest.Cluster)
	}{
		{"a factory of client-go's with generated listers", testFactory},
		{"dynamic and metadata informers of a definition that comes, changes and goes", testDefinition},
		{"a controller in the manner of sample-controller", testController},
		{"a controller-runtime manager", testManager},
		{"a client of controller-runtime's that reads its own writes", testOwnWrites},
	} {
		t.Run(p.name, func(t *testing.T) {
			began := time.Now()
			p.run(t, s, cluster)
			t.Logf("took %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

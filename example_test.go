package kinglet_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// The example of the README holds all pods of a cluster, found by node, and prints a
// line about each that changes or goes. A test compares the two.
func Example() {
	// README.md begin
	config, err := clientcmd.BuildConfigFromFlags("", clientcmd.RecommendedHomeFile)
	check(err)
	src, err := source.FromConfig[*corev1.Pod](config, corev1.SchemeGroupVersion.WithResource("pods"), source.Options{})
	check(err)
	pods, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{Indexers: map[string]kinglet.IndexFunc[*corev1.Pod]{
		"node": func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
	}})
	check(err)
	_, err = pods.AddHandler(kinglet.HandlerFuncs[*corev1.Pod]{
		OnUpdate: func(_ context.Context, old, p *corev1.Pod) {
			fmt.Println(p.Name, old.Status.Phase, "→", p.Status.Phase)
		},
		OnDelete: func(_ context.Context, d kinglet.DeletedObject[*corev1.Pod]) { fmt.Println(d.Key, "is gone") },
	}, kinglet.HandlerOptions{})
	check(err)
	go pods.Run(ctx)
	check(pods.WaitSynced(ctx)) // an error says what is not synced, and why
	onNode, _ := pods.Store().ByIndex("node", "node-1")
	for p := range onNode {
		fmt.Println(p.Namespace, p.Name)
	}
	// README.md end
}

var ctx = context.Background()

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A set starts and stops informers together; one that is refused does not
// keep the others from working.
func ExampleSet() {
	ctx, stop := context.WithCancel(context.Background())
	src := sourcetest.NewStatic(newPod("web-0", "node-1"), newPod("web-1", "node-2"))
	pods, err := kinglet.New[*corev1.Pod](src, kinglet.Options[*corev1.Pod]{Name: "pods"})
	check(err)

	set := kinglet.NewSet(pods)
	ended := make(chan error)
	go func() { ended <- set.Run(ctx) }()
	check(set.WaitSynced(ctx))
	for _, st := range set.Status() {
		fmt.Println(st.Name, st.Objects, "objects")
	}
	stop()
	check(<-ended)
	// Output:
	// pods 2 objects
}

// A snapshot is one version of everything: objects, indexes, resource version.
func ExampleInformer_Snapshot() {
	ctx, stop := context.WithCancel(context.Background())
	src := sourcetest.NewStatic(newPod("web-0", "node-1"), newPod("web-1", "node-1"))
	pods, err := kinglet.New[*corev1.Pod](src, kinglet.Options[*corev1.Pod]{
		Indexers: map[string]kinglet.IndexFunc[*corev1.Pod]{
			"node": func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
		},
	})
	check(err)
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	check(pods.WaitSynced(ctx))

	snap := pods.Snapshot()
	n, err := snap.IndexCount("node", "node-1")
	check(err)
	fmt.Println(n, "of", snap.Len(), "pods are on node-1")
	stop()
	check(<-ended)
	// Output:
	// 2 of 2 pods are on node-1
}

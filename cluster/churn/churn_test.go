package churn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// run churns against a fake cluster, in a bubble whose time stands until
// everybody waits.
func run(t *testing.T, opts Options, client *fake.Clientset, test func(t *testing.T, ctx context.Context, c *Churn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if opts.OnError == nil {
			opts.OnError = func(err error) { t.Error(err) }
		}
		c, err := New(client, opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		test(t, ctx, c)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func deployments(t *testing.T, ctx context.Context, client *fake.Clientset) []appsv1.Deployment {
	t.Helper()
	list, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// changes counts the operations among the actions of client so far.
func changes(client *fake.Clientset) int {
	n := 0
	for _, action := range client.Actions() {
		listed := action.GetVerb() == "list" && action.GetResource().Resource == "pods" // stands for a deleted pod
		if listed || action.GetResource().Resource == "deployments" && action.GetVerb() != "list" {
			n++
		}
	}
	return n
}

func TestTheDeploymentsAreMadeAndLeftAloneAtRateZero(t *testing.T) {
	client := fake.NewClientset()
	run(t, Options{Deployments: 25, Replicas: 4}, client, func(t *testing.T, ctx context.Context, c *Churn) {
		elapse(time.Hour)
		namespaces := map[string]int{}
		for _, d := range deployments(t, ctx, client) {
			namespaces[d.Namespace]++
			if *d.Spec.Replicas != 4 {
				t.Errorf("%s has %d replicas", d.Name, *d.Spec.Replicas)
			}
		}
		if fmt.Sprint(namespaces) != "map[team-0:9 team-1:8 team-2:8]" {
			t.Errorf("got %v", namespaces)
		}
		if n := changes(client); n != 25 {
			t.Errorf("%d changes", n)
		}
	})
}

func TestTheRateIsKeptAndCanBeChanged(t *testing.T) {
	client := fake.NewClientset()
	run(t, Options{Deployments: 3, Replicas: 3, Rate: 1}, client, func(t *testing.T, ctx context.Context, c *Churn) {
		for _, step := range []struct {
			rate float64
			want int // in 100 seconds
		}{{1, 100}, {0.1, 10}, {0, 0}, {2, 200}} {
			if err := c.SetRate(step.rate); err != nil {
				t.Fatal(err)
			}
			before := changes(client)
			elapse(100 * time.Second)
			if n := changes(client) - before; n < step.want-1 || n > step.want+1 {
				t.Errorf("at rate %v, %d changes in 100 s", step.rate, n)
			}
		}
		done := map[string]bool{}
		for _, action := range client.Actions() {
			done[action.GetVerb()+" "+action.GetResource().Resource] = true
			if patch, ok := action.(clienttesting.PatchAction); ok {
				done["roll"] = done["roll"] || strings.Contains(string(patch.GetPatch()), revisionLabel)
			}
		}
		for _, want := range []string{"create deployments", "patch deployments", "roll", "delete deployments", "list pods"} {
			if !done[want] {
				t.Errorf("in 310 operations it never came to %q", want)
			}
		}
		for _, d := range deployments(t, ctx, client) {
			if n := *d.Spec.Replicas; n < 2 || n > 4 {
				t.Errorf("%s was scaled from 3 to %d", d.Name, n)
			}
			revision := d.Spec.Template.Labels[revisionLabel]
			if image := d.Spec.Template.Spec.Containers[0].Image; image != "registry.example/"+d.Name+":v"+revision {
				t.Errorf("%s has revision %s and image %s", d.Name, revision, image)
			}
		}
		for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
			if c.SetRate(bad) == nil {
				t.Errorf("rate %v is taken", bad)
			}
		}
	})
}

func TestALaterRunFindsWhatIsThere(t *testing.T) {
	client := fake.NewClientset()
	names := map[string]bool{}
	run(t, Options{Deployments: 12, Replicas: 3}, client, func(t *testing.T, ctx context.Context, c *Churn) {
		for _, d := range deployments(t, ctx, client) {
			names[d.Name] = true
		}
	})
	run(t, Options{Deployments: 15, Replicas: 3}, client, func(t *testing.T, ctx context.Context, c *Churn) {
		all := deployments(t, ctx, client)
		if len(all) != 15 {
			t.Errorf("%d deployments", len(all))
		}
		kept := 0
		for _, d := range all {
			if names[d.Name] {
				kept++
			}
		}
		if kept == 0 {
			t.Error("it has found none of the earlier ones")
		}
	})
}

func TestFailuresAreReportedAndSurvived(t *testing.T) {
	away := errors.New("the server is away")
	var fails atomic.Bool
	fails.Store(true)
	client := fake.NewClientset()
	client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails.Load(), nil, away
	})
	var reported atomic.Int64
	opts := Options{Deployments: 5, Replicas: 3, Rate: 2, OnError: func(err error) {
		if !errors.Is(err, away) {
			t.Errorf("reported %v", err)
		}
		reported.Add(1)
	}}
	run(t, opts, client, func(t *testing.T, ctx context.Context, c *Churn) {
		elapse(time.Minute)
		if reported.Load() == 0 {
			t.Error("nothing was reported")
		}
		fails.Store(false)
		elapse(time.Minute)
		if _, err := client.CoreV1().Namespaces().Get(ctx, namespaceName(0), metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if n := len(deployments(t, ctx, client)); n == 0 || n > 5 {
			t.Errorf("%d deployments", n)
		}
		fails.Store(true)
		elapse(time.Minute)
		fails.Store(false)
		before := changes(client)
		elapse(10 * time.Second)
		if n := changes(client) - before; n < 18 {
			t.Errorf("%d changes in 10 s after the second outage", n)
		}
	})
}

func TestADeploymentThatSomebodyDeletesComesBack(t *testing.T) {
	client := fake.NewClientset()
	run(t, Options{Deployments: 2, Replicas: 3, Rate: 2}, client, func(t *testing.T, ctx context.Context, c *Churn) {
		for range 10 {
			for _, d := range deployments(t, ctx, client) {
				if err := client.AppsV1().Deployments(d.Namespace).Delete(ctx, d.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			elapse(10 * time.Second)
		}
		if err := c.SetRate(0); err != nil {
			t.Fatal(err)
		}
		if n := len(deployments(t, ctx, client)); n == 0 {
			t.Error("none has come back")
		}
	})
}

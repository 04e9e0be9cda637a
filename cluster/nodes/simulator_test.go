package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// fakeCluster is client-go's fake and the simulator that runs against it.
type fakeCluster struct {
	*fake.Clientset
	simulator *Simulator
	// refuse has every update and patch fail. (The fake's own reactors cannot be
	// changed while it is in use.)
	refuse atomic.Bool
	// reported counts what the simulator told of.
	reported atomic.Int64
}

var errAway = errors.New("the server is away")

// simulate runs a simulator against a fake cluster, in a bubble whose time
// stands until everybody waits.
func simulate(t *testing.T, nodes int, test func(t *testing.T, ctx context.Context, c *fakeCluster), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCluster{Clientset: fake.NewClientset(objects...)}
		for _, verb := range []string{"update", "patch"} {
			c.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) { return c.refuse.Load(), nil, errAway })
		}
		var err error
		onError := func(err error) {
			if !errors.Is(err, errAway) {
				t.Errorf("reported %v", err)
			}
			c.reported.Add(1)
		}
		if c.simulator, err = New(c, nodes, onError); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.simulator.Run(ctx) }()
		<-c.simulator.Registered()
		settle()
		test(t, ctx, c)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// settle lets what is to happen at once happen: a few milliseconds, since
// informers look at their queues in intervals.
func settle() {
	synctest.Wait()
	elapse(300 * time.Millisecond)
}

// elapse lets fake time pass.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func podOn(node int, name string, change func(*corev1.Pod)) *corev1.Pod {
	return boundPod(func(p *corev1.Pod) {
		p.Name, p.UID = name, types.UID("uid of "+name)
		p.Spec.NodeName = NodeName(node)
		if change != nil {
			change(p)
		}
	})
}

func getPod(t *testing.T, ctx context.Context, client *fakeCluster, name string) *corev1.Pod {
	t.Helper()
	pod, err := client.CoreV1().Pods("ns").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestPodsBoundToTheNodesRun(t *testing.T) {
	simulate(t, 3, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		for i := range 30 {
			pod := podOn(i%3, fmt.Sprintf("pod-%d", i), nil)
			if _, err := client.CoreV1().Pods("ns").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		stranger := podOn(9, "stranger", nil)
		if _, err := client.CoreV1().Pods("ns").Create(ctx, stranger, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		addresses := map[string]bool{}
		for i := range 30 {
			pod := getPod(t, ctx, client, fmt.Sprintf("pod-%d", i))
			if pod.Status.Phase != corev1.PodRunning {
				t.Errorf("%s is %s", pod.Name, pod.Status.Phase)
			}
			addresses[pod.Status.PodIP] = true
		}
		if len(addresses) != 30 {
			t.Errorf("30 pods have %d addresses", len(addresses))
		}
		if pod := getPod(t, ctx, client, "stranger"); pod.Status.Phase != corev1.PodPending {
			t.Errorf("the pod of an unknown node is %s", pod.Status.Phase)
		}
	})
}

func TestAPodThatRanBeforeKeepsItsAddress(t *testing.T) {
	before := podOn(0, "before", nil)
	before.Status = runningStatus(before, nodeAddress(0), podAddress(1), testTime)
	simulate(t, 1, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		if ip := getPod(t, ctx, client, "before").Status.PodIP; ip != podAddress(1).String() {
			t.Errorf("it is at %s now", ip)
		}
		if ip := getPod(t, ctx, client, "after").Status.PodIP; ip == "" || ip == podAddress(1).String() {
			t.Errorf("the new pod is at %q", ip)
		}
	}, before, podOn(0, "after", nil))
}

func TestDeletionsAreFinished(t *testing.T) {
	simulate(t, 1, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		pod := getPod(t, ctx, client, "pod")
		pod.DeletionTimestamp = ptr.To(metav1.Now())
		pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
		if _, err := client.CoreV1().Pods("ns").Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		var deleted clienttesting.DeleteActionImpl
		for _, action := range client.Actions() {
			if d, ok := action.(clienttesting.DeleteActionImpl); ok {
				deleted = d
			}
		}
		options := deleted.DeleteOptions
		if deleted.Name != "pod" || options.GracePeriodSeconds == nil || *options.GracePeriodSeconds != 0 || *options.Preconditions.UID != pod.UID {
			t.Errorf("got %+v", deleted)
		}
	}, podOn(0, "pod", nil))
}

func TestJobsPodsSucceedAfterTheirTime(t *testing.T) {
	once := func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }
	simulate(t, 1, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		if phase := getPod(t, ctx, client, "job").Status.Phase; phase != corev1.PodRunning {
			t.Errorf("before its time it is %s", phase)
		}
		elapse(2 * jobDuration)
		if phase := getPod(t, ctx, client, "job").Status.Phase; phase != corev1.PodSucceeded {
			t.Errorf("after its time it is %s", phase)
		}
	}, podOn(0, "job", once))
}

func TestEveryNodeRenewsItsLease(t *testing.T) {
	simulate(t, 9, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		for range 5 {
			elapse(leaseInterval)
			for n := range 9 {
				lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, NodeName(n), metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if age := time.Since(lease.Spec.RenewTime.Time); age > leaseInterval+time.Second {
					t.Errorf("the lease of %s was renewed %v ago", NodeName(n), age)
				}
			}
		}
	})
}

func TestANodeThatWasGivenUpSaysThatItLives(t *testing.T) {
	silent := newNode(0, testTime)
	silent.Status.Conditions[3].Status = corev1.ConditionUnknown // of Ready
	simulate(t, 1, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		// Once when it registers, and again whenever it happens.
		for range 2 {
			node, err := client.CoreV1().Nodes().Get(ctx, NodeName(0), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !nodeReady(node) {
				t.Errorf("it is not ready: %+v", node.Status.Conditions)
			}
			node.Status = silent.Status
			if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			settle()
		}
	}, silent)
}

func TestADeletedNodeIsSilent(t *testing.T) {
	simulate(t, 1, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		if err := client.CoreV1().Nodes().Delete(ctx, NodeName(0), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		client.ClearActions()
		elapse(time.Hour)
		for _, action := range client.Actions() {
			if action.GetVerb() != "watch" && action.GetVerb() != "list" {
				t.Errorf("it did %v", action)
			}
		}
	})
}

func TestWhatFailsIsReportedAndTriedAgain(t *testing.T) {
	simulate(t, 1, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
		client.refuse.Store(true)
		if _, err := client.CoreV1().Pods("ns").Create(ctx, podOn(0, "pod", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		elapse(time.Minute)
		if client.reported.Load() == 0 {
			t.Error("nothing was reported")
		}
		client.refuse.Store(false)
		if err := leases.Delete(ctx, NodeName(0), metav1.DeleteOptions{}); err != nil { // it is made again
			t.Fatal(err)
		}
		elapse(11 * time.Second)
		if phase := getPod(t, ctx, client, "pod").Status.Phase; phase != corev1.PodRunning {
			t.Errorf("the pod is %s", phase)
		}
		lease, err := leases.Get(ctx, NodeName(0), metav1.GetOptions{})
		if err != nil || time.Since(lease.Spec.RenewTime.Time) > 11*time.Second {
			t.Errorf("the lease is %+v, %v", lease, err)
		}
	})
}

func TestRegistrationWaitsForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var fails atomic.Bool
		fails.Store(true)
		client.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return fails.Load(), nil, errAway
		})
		s, err := New(client, 20, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		elapse(time.Minute)
		select {
		case <-s.Registered():
			t.Error("registered without a server")
		default:
		}
		fails.Store(false)
		<-s.Registered()
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 20 {
			t.Errorf("got %d nodes, %v", len(nodes.Items), err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

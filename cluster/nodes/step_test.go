package nodes

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var (
	testHost = nodeAddress(7)
	testAddr = podAddress(42)
	// Whole seconds, as the API keeps them.
	testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func boundPod(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", UID: "uid", Generation: 1},
		Spec: corev1.PodSpec{
			NodeName:      NodeName(7),
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "app", Image: "app:v1"}, {Name: "proxy", Image: "proxy:v1"}},
		},
		Status: corev1.PodStatus{
			Phase:    corev1.PodPending,
			QOSClass: corev1.PodQOSBestEffort,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(testTime)},
			},
		},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

// advance applies the next step to pod as the API server would, and returns it.
func advance(t *testing.T, pod *corev1.Pod, now time.Time) step {
	t.Helper()
	before := pod.DeepCopy()
	do := next(pod, testHost, testAddr, now)
	if !reflect.DeepEqual(before, pod) {
		t.Fatal("the pod that was looked at has changed")
	}
	if do.status != nil && do.remove {
		t.Fatal("two things at once")
	}
	if do.status != nil {
		pod.Status = *do.status
	}
	return do
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

func TestNothingIsReportedTwice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2_000 {
		pod := boundPod(func(p *corev1.Pod) { vary(random, p) })
		now := testTime
		steps := 0
		for do := advance(t, pod, now); do.status != nil; do = advance(t, pod, now) {
			if steps++; steps > 3 {
				t.Fatalf("no end to the reports about %+v", pod)
			}
			now = now.Add(time.Second)
		}
	}
}

// vary makes pod one of many.
func vary(random *rand.Rand, p *corev1.Pod) {
	p.Generation = random.Int64N(3)
	p.Spec.HostNetwork = random.IntN(4) == 0
	p.Spec.RestartPolicy = []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}[random.IntN(3)]
	for i := range random.IntN(3) {
		c := corev1.Container{Name: fmt.Sprintf("init-%d", i), Image: "init"}
		if random.IntN(2) == 0 {
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if random.IntN(3) == 0 {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
	}
	if random.IntN(3) == 0 {
		p.Finalizers = []string{"example.com/wait"}
	}
	if random.IntN(3) == 0 {
		p.DeletionTimestamp = ptr.To(metav1.NewTime(testTime))
		p.DeletionGracePeriodSeconds = ptr.To(random.Int64N(2) * 30)
	}
	if random.IntN(3) == 0 {
		p.Status = runningStatus(p, testHost, testAddr, testTime)
	}
	if random.IntN(3) == 0 {
		p.Status.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}[random.IntN(4)]
	}
}

func TestWhatRunsKeepsItsTimesAndAddress(t *testing.T) {
	pod := boundPod(nil)
	advance(t, pod, testTime)
	// The node lifecycle controller does this when a node is silent.
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			pod.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
	later := testTime.Add(time.Hour)
	other := podAddress(99)
	do := next(pod, testHost, other, later)
	if do.status == nil {
		t.Fatal("the pod stays unready")
	}
	pod.Status = *do.status
	if ready := condition(pod, corev1.PodReady); ready.Status != corev1.ConditionTrue || !ready.LastTransitionTime.Time.Equal(later) {
		t.Errorf("ready is %+v", ready)
	}
	if !pod.Status.StartTime.Time.Equal(testTime) || !pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time.Equal(testTime) {
		t.Error("it has started anew")
	}
	if pod.Status.PodIP != testAddr.String() {
		t.Errorf("it has moved to %s", pod.Status.PodIP)
	}
}

func TestReadinessWaitsForItsGates(t *testing.T) {
	pod := boundPod(func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
	})
	advance(t, pod, testTime)
	if condition(pod, corev1.PodReady).Status != corev1.ConditionFalse || condition(pod, corev1.ContainersReady).Status != corev1.ConditionTrue {
		t.Errorf("with the gate closed: %+v", pod.Status.Conditions)
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "gate", Status: corev1.ConditionTrue})
	advance(t, pod, testTime)
	if condition(pod, corev1.PodReady).Status != corev1.ConditionTrue {
		t.Errorf("with the gate open: %+v", pod.Status.Conditions)
	}
}

func TestInitContainersHaveEndedAndSidecarsRun(t *testing.T) {
	pod := boundPod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{
			{Name: "prepare", Image: "init"},
			{Name: "sidecar", Image: "side", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
		}
	})
	advance(t, pod, testTime)
	prepare, sidecar := pod.Status.InitContainerStatuses[0], pod.Status.InitContainerStatuses[1]
	if prepare.State.Terminated == nil || prepare.State.Terminated.ExitCode != 0 || !prepare.Ready {
		t.Errorf("the init container: %+v", prepare)
	}
	if sidecar.State.Running == nil || !sidecar.Ready {
		t.Errorf("the sidecar: %+v", sidecar)
	}
}

func TestADeletedPodGoes(t *testing.T) {
	deleted := func(p *corev1.Pod) {
		p.DeletionTimestamp = ptr.To(metav1.NewTime(testTime))
		p.DeletionGracePeriodSeconds = ptr.To[int64](30)
	}
	t.Run("at once, running or not", func(t *testing.T) {
		pod := boundPod(deleted)
		if do := advance(t, pod, testTime); !do.remove {
			t.Errorf("pending: %+v", do)
		}
		pod.Status = runningStatus(pod, testHost, testAddr, testTime)
		if do := advance(t, pod, testTime); !do.remove {
			t.Errorf("running: %+v", do)
		}
	})
	t.Run("after its end was reported to those who wait with a finalizer", func(t *testing.T) {
		pod := boundPod(func(p *corev1.Pod) { deleted(p); p.Finalizers = []string{"batch.kubernetes.io/job-tracking"} })
		if do := advance(t, pod, testTime); do.status == nil || pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("first %+v", do)
		}
		if do := advance(t, pod, testTime); !do.remove {
			t.Errorf("then %+v", do)
		}
		pod.DeletionGracePeriodSeconds = ptr.To[int64](0)
		if do := advance(t, pod, testTime); do != (step{}) {
			t.Errorf("while the finalizer stays: %+v", do)
		}
	})
}

package testpods

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod makes pod i as it is in a round. The result shares no memory that may be written to
// with another. Its kind and API version are set.
func (c *Collection) Pod(i, round int) *corev1.Pod {
	number, of := c.templateOf(i)
	t := c.template(number)
	rnd := c.draw(drawPod, i, 0)
	node := rnd.IntN(c.nodes)
	created := t.created + int64(of)
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              c.name(t, i, of),
			GenerateName:      t.app + "-" + t.hash + "-",
			Namespace:         t.namespace,
			UID:               uid(rnd),
			ResourceVersion:   c.version(i, round),
			Generation:        1,
			CreationTimestamp: at(created),
			Labels:            t.labels(),
			Annotations:       t.annotations(),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: t.app + "-" + t.hash, UID: t.owner,
				Controller: to(true), BlockOwnerDeletion: to(true),
			}},
		},
		Spec: t.spec(fmt.Sprintf("node-%05d.example.internal", node)),
	}
	p.Annotations["cni.example.com/attachment"] = hexadecimal(rnd, 64)
	restarted := created + 12
	if round > 0 {
		restarted = created + int64(round)*3600 + int64(c.turn[i])%3600
	}
	ip := fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&255, i&255)
	p.Status = c.status(t, p, i, round, restarted)
	p.Status.PodIP = ip
	p.Status.PodIPs = []corev1.PodIP{{IP: ip}}
	p.Status.HostIP = fmt.Sprintf("172.16.%d.%d", node>>8&255, node&255)
	p.Status.HostIPs = []corev1.HostIP{{IP: p.Status.HostIP}}
	p.ManagedFields = t.managedFields(p, ip, created, restarted)
	if c.opts.Unique {
		unlike(p, c.draw(drawUnlike, i, 0))
	}
	return p
}

// status is the pod's at the time that the kubelet restarted a container, or
// started both.
func (c *Collection) status(t *template, p *corev1.Pod, i, round int, restarted int64) corev1.PodStatus {
	created := p.CreationTimestamp.Unix()
	st := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: to(at(created)),
		QOSClass:  corev1.PodQOSBurstable,
	}
	for _, cond := range []struct {
		kind  corev1.PodConditionType
		since int64
	}{
		{corev1.PodReadyToStartContainers, created + 4}, {corev1.PodInitialized, created}, {corev1.PodReady, restarted + 9},
		{corev1.ContainersReady, restarted + 9}, {corev1.PodScheduled, created},
	} {
		st.Conditions = append(st.Conditions, corev1.PodCondition{
			Type: cond.kind, Status: corev1.ConditionTrue, LastTransitionTime: at(cond.since), ObservedGeneration: 1,
		})
	}
	for k, name := range containers {
		// The restarted container gets a new ID.
		run, started := 0, created+12
		if k == 0 {
			run, started = round, restarted
		}
		st.ContainerStatuses = append(st.ContainerStatuses, corev1.ContainerStatus{
			Name:         name,
			State:        corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(started)}},
			Ready:        true,
			RestartCount: int32(run),
			Image:        t.images[k].name,
			ImageID:      "registry.example.com/" + t.namespace + "/" + t.app + "-" + name + "@" + t.images[k].digest,
			ContainerID:  "containerd://" + hexadecimal(c.draw(drawRestart, 2*i+k, run), 64),
			Started:      to(true),
		})
	}
	return st
}

func at(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(seconds, 0)) }

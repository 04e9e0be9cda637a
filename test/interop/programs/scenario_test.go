//go:build e2e

package programs

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/test/interop/programs/website"
)

// sites is a namespace in which a controller of Websites works.
type sites struct {
	websites    kind[website.Website]
	deployments kind[appsv1.Deployment]
}

func newSites(t *testing.T, s *server, namespace string) sites {
	t.Helper()
	s.createNamespace(t, namespace)
	return sites{
		websites:    kind[website.Website]{s, website.Resource, namespace},
		deployments: kind[appsv1.Deployment]{s, deployments, namespace},
	}
}

// play does to the Websites of a namespace what befalls them in their lives,
// and sees after each step what the controller has made of it. At the end there
// are the Websites b, c and d.
func (ss sites) play(t *testing.T) {
	t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		ss.create(t, name, "example.com/web:1", 2)
	}
	for _, name := range []string{"a", "b", "c"} {
		ss.serves(t, name, 2)
	}

	// Scaled, and another image.
	ss.websites.patch(t, "a", `{"spec":{"replicas":4,"image":"example.com/web:2"}}`)
	ss.serves(t, "a", 4)

	// The Deployment is deleted, and comes back.
	old := ss.deployments.follow(t, "b", "there", func(d *appsv1.Deployment) bool { return d != nil })
	ss.deployments.delete(t, "b")
	ss.deployments.follow(t, "b", "another one", func(d *appsv1.Deployment) bool { return d != nil && d.UID != old.UID })
	ss.serves(t, "b", 2)

	// Deleted and created again at once: the garbage collector takes the old
	// one's Deployment while the new one waits for its own.
	ss.websites.delete(t, "c")
	ss.create(t, "c", "example.com/web:3", 3)
	ss.serves(t, "c", 3)

	// Somebody else's Deployment is in the way, until it goes.
	foreign := website.NewDeployment(newSite("d", "example.com/other:1", 1))
	foreign.Namespace, foreign.OwnerReferences = ss.deployments.namespace, nil
	ss.deployments.create(t, "apps/v1", "Deployment", foreign)
	ss.create(t, "d", "example.com/web:1", 1)
	ss.websites.follow(t, "d", "in trouble", func(w *website.Website) bool {
		return w != nil && w.Status.Message == website.ErrNotOwned.Error()
	})
	ss.deployments.delete(t, "d")
	ss.serves(t, "d", 1)

	// Gone, and what it owned with it.
	ss.websites.delete(t, "a")
	ss.websites.follow(t, "a", "gone", isGone)
	ss.deployments.follow(t, "a", "gone", isGone)
	ss.atTheEnd(t, map[string]int32{"b": 2, "c": 3, "d": 1})
}

// atTheEnd holds the server's state against what it should be.
func (ss sites) atTheEnd(t *testing.T, want map[string]int32) {
	t.Helper()
	list, err := ss.deployments.client().List(ss.deployments.s.ctx, metav1.ListOptions{})
	check(t, err)
	if len(list.Items) != len(want) {
		t.Errorf("there are %d Deployments, not %d", len(list.Items), len(want))
	}
	for name, replicas := range want {
		site := ss.serves(t, name, replicas)
		d := ss.deployments.follow(t, name, "there", func(d *appsv1.Deployment) bool { return d != nil })
		if !metav1.IsControlledBy(d, site) {
			t.Errorf("the Deployment of %s is owned by %v", name, d.OwnerReferences)
		}
		if image := d.Spec.Template.Spec.Containers[0].Image; image != site.Spec.Image || *d.Spec.Replicas != replicas {
			t.Errorf("the Deployment of %s has %d replicas of %s", name, *d.Spec.Replicas, image)
		}
	}
}

// serves returns when the status of a Website says that all is well.
func (ss sites) serves(t *testing.T, name string, replicas int32) *website.Website {
	t.Helper()
	return ss.websites.follow(t, name, "serving", func(w *website.Website) bool {
		return w != nil && w.Status == website.Status{ObservedGeneration: w.Generation, AvailableReplicas: replicas}
	})
}

func newSite(name, image string, replicas int32) *website.Website {
	return &website.Website{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       website.Spec{Image: image, Replicas: replicas},
	}
}

func (ss sites) create(t *testing.T, name, image string, replicas int32) {
	t.Helper()
	ss.websites.create(t, website.GroupVersion.String(), "Website", newSite(name, image, replicas))
}

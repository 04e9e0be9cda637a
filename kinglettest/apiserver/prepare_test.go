package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func resourceOf(gv schema.GroupVersion, kind string) Resource {
	return Resource{GroupVersionResource: gv.WithResource(strings.ToLower(kind) + "s"), Kind: kind}
}

func TestWhatRaisesTheGeneration(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: "ns", Name: "a"}
	labelled, annotated := named, named
	annotated.Annotations = map[string]string{"a": "b"}
	labelled.Labels = map[string]string{"a": "b"}
	for _, c := range []struct {
		gv            schema.GroupVersion
		kind          string
		created, next runtime.Object
		was, is       int64
	}{
		{corev1.SchemeGroupVersion, "ReplicationController", &corev1.ReplicationController{ObjectMeta: named}, &corev1.ReplicationController{ObjectMeta: named, Spec: corev1.ReplicationControllerSpec{MinReadySeconds: 1}}, 1, 2},
		{corev1.SchemeGroupVersion, "PodTemplate", &corev1.PodTemplate{ObjectMeta: named}, &corev1.PodTemplate{ObjectMeta: named, Template: corev1.PodTemplateSpec{ObjectMeta: labelled}}, 1, 2},
		{corev1.SchemeGroupVersion, "ConfigMap", &corev1.ConfigMap{ObjectMeta: named}, &corev1.ConfigMap{ObjectMeta: labelled}, 0, 0},
		{appsv1.SchemeGroupVersion, "ControllerRevision", &appsv1.ControllerRevision{ObjectMeta: named}, &appsv1.ControllerRevision{ObjectMeta: labelled}, 0, 0},
		{appsv1.SchemeGroupVersion, "Deployment", &appsv1.Deployment{ObjectMeta: named}, &appsv1.Deployment{ObjectMeta: labelled}, 1, 1},
		{appsv1.SchemeGroupVersion, "Deployment", &appsv1.Deployment{ObjectMeta: named}, &appsv1.Deployment{ObjectMeta: annotated}, 1, 2},
		{appsv1.SchemeGroupVersion, "ReplicaSet", &appsv1.ReplicaSet{ObjectMeta: named}, &appsv1.ReplicaSet{ObjectMeta: annotated}, 1, 1},
		{storagev1.SchemeGroupVersion, "CSIDriver", &storagev1.CSIDriver{ObjectMeta: named}, &storagev1.CSIDriver{ObjectMeta: named, Spec: storagev1.CSIDriverSpec{RequiresRepublish: new(bool)}}, 0, 1},
		{schedulingv1.SchemeGroupVersion, "PriorityClass", &schedulingv1.PriorityClass{ObjectMeta: named}, &schedulingv1.PriorityClass{ObjectMeta: named, Description: "x"}, 1, 1},
		{admissionv1.SchemeGroupVersion, "ValidatingWebhookConfiguration", &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: named},
			&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: named, Webhooks: []admissionv1.ValidatingWebhook{{Name: "x"}}}, 1, 2},
		{discoveryv1.SchemeGroupVersion, "EndpointSlice", &discoveryv1.EndpointSlice{ObjectMeta: named}, &discoveryv1.EndpointSlice{ObjectMeta: labelled}, 1, 2},
	} {
		s := NewStorage(resourceOf(c.gv, c.kind))
		created, err := s.Create(c.created)
		if err != nil {
			t.Fatal(c.kind, err)
		}
		next, err := s.Update(c.next)
		if err != nil {
			t.Fatal(c.kind, err)
		}
		if was, is := metaOf(created).GetGeneration(), metaOf(next).GetGeneration(); was != c.was || is != c.is {
			t.Errorf("%s: %d, then %d; want %d, then %d", c.kind, was, is, c.was, c.is)
		}
	}
}

// The update that removes the last finalizer is answered, and is not what watches tell of.
func TestTheLastStateOfAnObjectIsTheOneBeforeItsLastFinalizerWent(t *testing.T) {
	s := NewStorage(ConfigMaps)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Labels: map[string]string{"l": "before"}, Finalizers: []string{"example.com/f"}}}
	if _, err := s.Create(cm); err != nil {
		t.Fatal(err)
	}
	marked, err := s.Delete(ConfigMaps.GroupResource(), types.NamespacedName{Namespace: "ns", Name: "a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cm.Labels, cm.Finalizers = map[string]string{"l": "after"}, nil
	answer, err := s.Update(cm)
	if err != nil {
		t.Fatal(err)
	}
	if m := metaOf(answer); m.GetLabels()["l"] != "after" || len(m.GetFinalizers()) != 0 || m.GetResourceVersion() != metaOf(marked).GetResourceVersion() {
		t.Errorf("the answer is %v", m)
	}
	history := s.History(ConfigMaps.GroupResource())
	last := history[len(history)-1]
	if m := metaOf(last.Object); last.Type != watch.Deleted || m.GetLabels()["l"] != "before" || len(m.GetFinalizers()) != 1 || m.GetResourceVersion() == metaOf(marked).GetResourceVersion() {
		t.Errorf("watches are told %s of %v", last.Type, m)
	}
}

// As registry.Store's Delete of k8s.io/apiserver.
func TestADryRunOfADeletionAnswersWhatItWouldMark(t *testing.T) {
	s := NewStorage(ConfigMaps)
	created, err := s.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Finalizers: []string{"example.com/f"}}})
	if err != nil {
		t.Fatal(err)
	}
	server := New(s, Options{})
	defer server.Close()
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, "/api/v1/namespaces/ns/configmaps/a?dryRun=All", nil))
	if !strings.Contains(w.Body.String(), "deletionTimestamp") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	is, err := s.get(ConfigMaps.GroupResource(), types.NamespacedName{Namespace: "ns", Name: "a"}, s.Revision())
	if err != nil || metaOf(is).GetDeletionTimestamp() != nil || metaOf(is).GetResourceVersion() != metaOf(created).GetResourceVersion() {
		t.Errorf("it has changed: %v, %v", is, err)
	}
}

func TestKindsOfOneNameInTwoGroupsAreTwo(t *testing.T) {
	s := NewStorage(resourceOf(corev1.SchemeGroupVersion, "Event"), resourceOf(eventsv1.SchemeGroupVersion, "Event"))
	for i := range 10 { // each looks through a map
		name := metav1.ObjectMeta{Namespace: "ns", Name: string(rune('a' + i))}
		if _, err := s.Create(&corev1.Event{ObjectMeta: name}); err != nil {
			t.Error(err)
		}
		if _, err := s.Create(&eventsv1.Event{ObjectMeta: name}); err != nil {
			t.Error(err)
		}
	}
}

// Package e2e compares those of secrets and of custom resources with a real server's.
func TestAFieldSelectorIsRefusedInTheWordsOfItsKind(t *testing.T) {
	gadgets := Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}, Kind: "Gadget", ClusterScoped: true}
	server := New(NewStorage(ConfigMaps, Nodes, resourceOf(corev1.SchemeGroupVersion, "Secret"), gadgets), Options{})
	defer server.Close()
	for path, want := range map[string]string{
		"/apis/example.com/v1/gadgets?fieldSelector=metadata.namespace%3Dx": "field label not supported: metadata.namespace",
		"/api/v1/nodes?fieldSelector=metadata.namespace%3Dx":                "field label not supported: metadata.namespace",
		"/api/v1/secrets?fieldSelector=data.k%3Dv":                          "field label not supported: data.k",
		"/api/v1/secrets?fieldSelector=metadata.namespace%3Dx":              "SecretList",
		"/api/v1/configmaps?fieldSelector=data.k%3Dv":                       "is not a known field selector",
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

// Package e2e compares each kind with a real server's.
func TestABuiltInKindRefusesAFinalizerWithoutADomainIfItValidatesMetadataItself(t *testing.T) {
	for kind, want := range map[schema.GroupVersionKind]int{
		corev1.SchemeGroupVersion.WithKind("ConfigMap"): 1, corev1.SchemeGroupVersion.WithKind("Event"): 0, eventsv1.SchemeGroupVersion.WithKind("Event"): 1,
		coordinationv1.SchemeGroupVersion.WithKind("Lease"): 0,
	} {
		r := resourceOf(kind.GroupVersion(), kind.Kind)
		if errs := r.unqualified(&metav1.ObjectMeta{Finalizers: []string{"nonsense", "example.com/f"}}, nil); len(errs) != want {
			t.Errorf("%v: %v", kind, errs)
		}
	}
}

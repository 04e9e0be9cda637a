package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// Package e2e compares them with those of a real server.
func TestNamesAreThoseOfTheirKind(t *testing.T) {
	core, rbac := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	certificates, networking := schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1beta1"}, schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}
	apps, registration := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}
	batch := schema.GroupVersion{Group: "batch", Version: "v1"}
	for _, c := range []struct {
		gv           schema.GroupVersion
		kind         string
		taken, other string
		version      apiserver.Version
	}{
		{core, "ConfigMap", "a a.b a-b 1a", "A a:b a_b a. ..", 0},
		{core, "Namespace", "a 1a", "a.b", 0},
		{core, "Service", "a 1a", "a.b", apiserver.V136},
		{core, "Service", "a", "a.b 1a", apiserver.V135},
		{core, "Event", "system:A.17 a_b", "a%b ..", 0},
		{apps, "StatefulSet", "a", "a.b", 0},
		{apps, "Deployment", "a a.b", "a:b", 0},
		{batch, "CronJob", strings.Repeat("a", 52), strings.Repeat("a", 53), 0},
		{rbac, "Role", "system:A a_b ...", "a%b .. .", 0},
		{rbac, "ClusterRoleBinding", "system:Aggregate-to:x", "a/b", 0},
		{registration, "APIService", "v1.", "..", 0},
		{networking, "IPAddress", "10.0.0.1 2001:db8::1", "a 10.0.0.01 2001:DB8::1", 0},
		{certificates, "ClusterTrustBundle", "a.b example.com:x:a.b", "example.com:x:A a:", 0},
	} {
		r := apiserver.Resource{GroupVersionResource: c.gv.WithResource(strings.ToLower(c.kind) + "s"), Kind: c.kind, ClusterScoped: true}
		server := apiserver.New(apiserver.NewStorage(r), apiserver.Options{Version: c.version})
		client := dynamic.NewForConfigOrDie(server.Config()).Resource(r.GroupVersionResource)
		create := func(name string) error {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetGroupVersionKind(c.gv.WithKind(c.kind))
			u.SetName(name)
			_, err := client.Create(t.Context(), u, metav1.CreateOptions{})
			return err
		}
		for _, name := range strings.Fields(c.taken) {
			if err := create(name); err != nil {
				t.Errorf("%s %q: %v", c.kind, name, err)
			}
		}
		for _, name := range strings.Fields(c.other) {
			if err := create(name); !apierrors.IsInvalid(err) {
				t.Errorf("%s %q: %v", c.kind, name, err)
			}
		}
		server.Close()
	}
}

func TestAGeneratedNameIsCutToTheLengthOfALabel(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		long := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: strings.Repeat("a", 250)}}
		cm, err := w.client.CoreV1().ConfigMaps("ns").Create(w.Context(), long, metav1.CreateOptions{})
		if err != nil || len(cm.Name) > 63 {
			w.Errorf("%q, %v", cm.Name, err)
		}
	})
}

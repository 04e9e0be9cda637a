package apiserver_test

import (
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// Package e2e compares the names that each kind may have with those of a real server.
func TestAServiceMayStartWithADigitFromOneVersionOn(t *testing.T) {
	services := apiserver.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("services"), Kind: "Service"}
	for _, c := range []struct {
		version apiserver.Version
		name    string
		taken   bool
	}{{apiserver.V135, "a", true}, {apiserver.V135, "1a", false}, {apiserver.V136, "1a", true}, {apiserver.V136, "a.b", false}} {
		server := apiserver.New(apiserver.NewStorage(services), apiserver.Options{Version: c.version})
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
		_, err := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Services("ns").Create(t.Context(), service, metav1.CreateOptions{})
		if c.taken && err != nil || !c.taken && !apierrors.IsInvalid(err) {
			t.Errorf("%v %q: %v", c.version, c.name, err)
		}
		server.Close()
	}
}

func TestAGeneratedNameHasFiveCharactersMoreAndTheLengthOfALabel(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		for _, prefix := range []string{"x-", strings.Repeat("a", 250)} {
			cm, err := w.client.CoreV1().ConfigMaps("ns").Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}, metav1.CreateOptions{})
			if err != nil || !regexp.MustCompile("^"+prefix[:min(len(prefix), 58)]+"[bcdfghjklmnpqrstvwxz2456789]{5}$").MatchString(cm.Name) {
				w.Errorf("%q, %v", cm.Name, err)
			}
		}
	})
}

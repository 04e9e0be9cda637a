//go:build e2e

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/kinglettest"
)

var cluster = flag.String("cluster", "", "the kinglet-cluster program; built if empty")

// TestTheOperatorDoesTheSameOnBothCaches runs the program as its users do, with the same
// tests on controller-runtime's cache and on kinglet's.
func TestTheOperatorDoesTheSameOnBothCaches(t *testing.T) {
	control := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *cluster})
	scheme := runtime.NewScheme()
	check(t, clientgoscheme.AddToScheme(scheme))
	check(t, addToScheme(scheme))
	c, err := client.New(control.Config(t), client.Options{Scheme: scheme})
	check(t, err)
	define(t, c)
	program := filepath.Join(t.TempDir(), "operator")
	if out, err := exec.Command("go", "build", "-race", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := map[string][]string{}
	for name, args := range map[string][]string{"stock": {"-stock"}, "kinglet": nil} {
		t.Run(name, func(t *testing.T) {
			stop := start(t, program, append(args, "-kubeconfig", control.Kubeconfig)...)
			seen[name] = live(t, c, name)
			stop()
		})
	}
	if !slices.Equal(seen["stock"], seen["kinglet"]) {
		t.Errorf("stock\n%s\nkinglet\n%s", strings.Join(seen["stock"], "\n"), strings.Join(seen["kinglet"], "\n"))
	}
}

// live lets Notebooks live in a namespace, and returns the events.
func live(t *testing.T, c client.Client, namespace string) (seen []string) {
	ctx := t.Context()
	check(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shared"}, Data: map[string]string{"a": "1"}}
	check(t, c.Create(ctx, settings))
	notebook := func(i int, uses string) *Notebook {
		return &Notebook{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("notebook-%d", i)},
			Spec:       NotebookSpec{Image: "notebook:1", Replicas: 1, Settings: uses},
		}
	}
	const n = 5
	for i := range n {
		check(t, c.Create(ctx, notebook(i, "shared")))
	}
	check(t, c.Create(ctx, notebook(n, "late"))) // its settings come later
	all := func(is func(*Notebook) bool) func() (bool, error) {
		return func() (bool, error) {
			var list NotebookList
			err := c.List(ctx, &list, client.InNamespace(namespace))
			for i := range list.Items {
				if nb := &list.Items[i]; nb.Spec.Settings == "shared" && !is(nb) {
					return false, err
				}
			}
			return len(list.Items) == n+1, err
		}
	}
	wait(t, "all are ready, with their settings", all(func(nb *Notebook) bool {
		return nb.Status == NotebookStatus{ObservedGeneration: nb.Generation, ReadyReplicas: 1, Settings: settings.ResourceVersion}
	}))

	// The index finds all Notebooks of a ConfigMap that changes, and no others.
	settings.Data["a"] = "2"
	check(t, c.Update(ctx, settings))
	wait(t, "all have the new settings", all(func(nb *Notebook) bool {
		return nb.Status.Settings == settings.ResourceVersion && nb.Status.ReadyReplicas == 1
	}))
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late"}}
	check(t, c.Create(ctx, late))
	wait(t, "the settings that came late are found", func() (bool, error) {
		nb := notebook(n, "")
		err := c.Get(ctx, client.ObjectKeyFromObject(nb), nb)
		return nb.Status.Settings == late.ResourceVersion, err
	})

	// Somebody else changes the Notebook, and what it owns.
	first := notebook(0, "")
	check(t, c.Patch(ctx, first, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))))
	second := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "notebook-1"}}
	check(t, c.Delete(ctx, second))
	wait(t, "the first has two replicas, and the second its Deployment again", func() (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(first), first); err != nil || first.Status.ReadyReplicas != 2 {
			return false, err
		}
		again := &appsv1.Deployment{}
		err := c.Get(ctx, client.ObjectKeyFromObject(second), again)
		return err == nil && again.Status.ReadyReplicas == 1, client.IgnoreNotFound(err)
	})

	for i := range n + 1 {
		check(t, c.Delete(ctx, notebook(i, "")))
	}
	wait(t, "no Notebook is left", func() (bool, error) {
		var list NotebookList
		err := c.List(ctx, &list, client.InNamespace(namespace))
		return len(list.Items) == 0, err
	})
	for i := range n + 1 {
		archive := &corev1.ConfigMap{}
		check(t, c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("notebook-%d-archive", i)}, archive))
	}
	wait(t, "there are events of each kind", func() (bool, error) {
		var list corev1.EventList
		err := c.List(ctx, &list, client.InNamespace(namespace))
		kinds := map[string]bool{}
		for i := range list.Items {
			if e := &list.Items[i]; e.InvolvedObject.Kind == "Notebook" {
				kinds[e.InvolvedObject.Name+" "+e.Reason] = true
			}
		}
		seen = seen[:0]
		for k := range kinds {
			seen = append(seen, k)
		}
		slices.Sort(seen)
		return len(kinds) == n+2, err // each was deployed, and one had no settings
	})
	return seen
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wait polls until is returns true: another process and a control plane are at work.
func wait(t *testing.T, what string, is func() (bool, error)) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		so, err := is()
		if so && err == nil {
			t.Logf("%s: after %v", what, time.Since(began).Round(time.Millisecond))
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("not within two minutes: %s: %v", what, err)
		}
	}
}

// define creates the definition of Notebooks, and waits until they can be created.
func define(t *testing.T, c client.Client) {
	t.Helper()
	text, err := os.ReadFile("definition.yaml")
	check(t, err)
	u := &unstructured.Unstructured{}
	check(t, yaml.Unmarshal(text, &u.Object))
	check(t, c.Create(t.Context(), u))
	wait(t, "Notebooks are defined", func() (bool, error) {
		err := c.List(t.Context(), &NotebookList{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// start starts the program, and returns a function that stops it.
func start(t *testing.T, program string, args ...string) (stop func()) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	check(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%v\n%s", args, output.String())
		}
	})
	return func() {
		check(t, cmd.Process.Signal(syscall.SIGTERM))
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v\n%s", err, output.String())
		}
	}
}

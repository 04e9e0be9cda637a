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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
)

var cluster = flag.String("cluster", "", "the kinglet-cluster program; built if empty")

// TestTwoReplicasOfWhichOneIsKilled runs the program as its users do.
func TestTwoReplicasOfWhichOneIsKilled(t *testing.T) {
	control := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *cluster})
	cfg := control.Config(t)
	define(t, cfg)
	// The user is the service account of deployment.yaml, with its rights and no others.
	rights, err := control.User("site-controller")
	check(t, err)
	allow(t, cfg)
	client, err := newSiteClient(cfg)
	check(t, err)
	kube, err := kubernetes.NewForConfig(cfg)
	check(t, err)
	seen := observe(t, cfg)

	program := filepath.Join(t.TempDir(), "site")
	if out, err := exec.Command("go", "build", "-race", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	replicas := map[string]*replica{}
	for _, name := range []string{"one", "two"} {
		replicas[name] = start(t, program, "-identity", name, "-kubeconfig", rights, "-lease-duration", "6s")
	}

	const n = 10
	ctx := t.Context()
	for i := range n {
		_, err := client("default").Create(ctx, &Site{
			TypeMeta:   metav1.TypeMeta{APIVersion: sitesResource.GroupVersion().String(), Kind: "Site"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("site-%d", i)},
			Spec:       SiteSpec{Host: fmt.Sprintf("www%d.example.org", i), Image: "nginx:1", Replicas: 1},
		}, metav1.CreateOptions{})
		check(t, err)
	}
	seen.wait(t, "all Sites have a pod that is ready", func(all map[string]*Site) bool {
		return len(all) == n && every(all, func(s *Site) bool { return s.Status.ReadyReplicas == 1 })
	})

	// Half of the Sites are changed before the leader is killed, half after.
	leader := holder(t, kube)
	change := func(i int) {
		_, err := client("default").Patch(ctx, fmt.Sprintf("site-%d", i), "application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{})
		check(t, err)
	}
	for i := range n / 2 {
		change(i)
	}
	check(t, replicas[leader].Process.Kill())
	_ = replicas[leader].Wait()
	delete(replicas, leader)
	for i := n / 2; i < n; i++ {
		change(i)
	}
	seen.wait(t, "all Sites have two pods that are ready", func(all map[string]*Site) bool {
		return every(all, func(s *Site) bool { return s.Status.ReadyReplicas == 2 && s.Status.ObservedGeneration == s.Generation })
	})
	if next := holder(t, kube); next == leader || next == "" {
		t.Errorf("%q leads after %q was killed", next, leader)
	}
	deployments, err := kube.AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
	check(t, err)
	if len(deployments.Items) != n {
		t.Errorf("%d Deployments of %d Sites", len(deployments.Items), n)
	}

	for i := range n {
		check(t, client("default").Delete(ctx, fmt.Sprintf("site-%d", i), metav1.DeleteOptions{}))
	}
	seen.wait(t, "no Site is left", func(all map[string]*Site) bool { return len(all) == 0 })
	for i := range n {
		host := fmt.Sprintf("www%d.example.org", i)
		if _, err := kube.CoreV1().ConfigMaps("default").Get(ctx, host, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the host name %s is not free: %v", host, err)
		}
	}

	for name, r := range replicas {
		check(t, r.Process.Signal(syscall.SIGTERM))
		if err := r.Wait(); err != nil {
			t.Errorf("%s ended with %v\n%s", name, err, r.output.String())
		}
	}
	if h := holder(t, kube); h != "" {
		t.Errorf("%q holds the Lease after the end", h)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// define creates the definition of Sites, and waits until they can be created.
func define(t *testing.T, cfg *rest.Config) {
	t.Helper()
	text, err := os.ReadFile("definition.yaml")
	check(t, err)
	u := &unstructured.Unstructured{}
	check(t, yaml.Unmarshal(text, &u.Object))
	client, err := dynamic.NewForConfig(cfg)
	check(t, err)
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	w, err := crds.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + u.GetName()})
	check(t, err)
	defer w.Stop()
	_, err = crds.Create(t.Context(), u, metav1.CreateOptions{})
	check(t, err)
	for e := range w.ResultChan() {
		conditions, _, _ := unstructured.NestedSlice(e.Object.(*unstructured.Unstructured).Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
				return
			}
		}
	}
	t.Fatal("the definition is not established")
}

// allow creates the ClusterRole of deployment.yaml and its binding.
func allow(t *testing.T, cfg *rest.Config) {
	t.Helper()
	text, err := os.ReadFile("deployment.yaml")
	check(t, err)
	client, err := dynamic.NewForConfig(cfg)
	check(t, err)
	resources := map[string]string{"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}
	for _, document := range strings.Split(string(text), "\n---\n") {
		u := &unstructured.Unstructured{}
		check(t, yaml.Unmarshal([]byte(document), &u.Object))
		if resource, ok := resources[u.GetKind()]; ok {
			_, err := client.Resource(rbacv1.SchemeGroupVersion.WithResource(resource)).Create(t.Context(), u, metav1.CreateOptions{})
			check(t, err)
		}
	}
}

// holder returns the identity of the leader.
func holder(t *testing.T, kube kubernetes.Interface) string {
	t.Helper()
	l, err := kube.CoordinationV1().Leases("default").Get(context.Background(), "site-controller", metav1.GetOptions{})
	check(t, err)
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// replica is a process of the program.
type replica struct {
	*exec.Cmd
	output *bytes.Buffer
}

func start(t *testing.T, program string, args ...string) *replica {
	t.Helper()
	r := &replica{Cmd: exec.Command(program, args...), output: &bytes.Buffer{}}
	r.Stdout, r.Stderr = r.output, r.output
	check(t, r.Start())
	t.Cleanup(func() {
		if r.ProcessState == nil {
			_ = r.Process.Kill()
			_ = r.Wait()
		}
		if t.Failed() {
			t.Logf("%v\n%s", args, r.output.String())
		}
	})
	return r
}

// observed is what an informer of the test sees.
type observed struct {
	informer *kinglet.Informer[*Site]
	changed  chan struct{}
}

func observe(t *testing.T, cfg *rest.Config) *observed {
	t.Helper()
	src, err := source.FromConfig[*Site](cfg, sitesResource, source.Options{})
	check(t, err)
	o := &observed{changed: make(chan struct{}, 1)}
	o.informer, err = kinglet.New(src, kinglet.Options[*Site]{})
	check(t, err)
	_, err = o.informer.AddHandler(kinglet.HandlerFunc[*Site](func(context.Context, []kinglet.Change[*Site]) {
		select {
		case o.changed <- struct{}{}:
		default:
		}
	}), kinglet.HandlerOptions{})
	check(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = o.informer.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	check(t, o.informer.WaitSynced(t.Context()))
	return o
}

// wait waits until right accepts what the informer holds.
func (o *observed) wait(t *testing.T, what string, right func(map[string]*Site) bool) {
	t.Helper()
	began := time.Now()
	timeout := time.After(2 * time.Minute)
	for {
		all := map[string]*Site{}
		for s := range o.informer.Store().All() {
			all[s.Name] = s
		}
		if right(all) {
			t.Logf("%s: after %v", what, time.Since(began).Round(time.Millisecond))
			return
		}
		select {
		case <-o.changed:
		case <-timeout:
			for name, s := range all {
				t.Logf("%s: generation %d, %+v", name, s.Generation, s.Status)
			}
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

func every(all map[string]*Site, is func(*Site) bool) bool {
	for _, s := range all {
		if !is(s) {
			return false
		}
	}
	return true
}

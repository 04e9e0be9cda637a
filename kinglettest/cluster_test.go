package kinglettest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestAClusterIsRealAndObeys needs no more than the one cluster, which is what
// takes its time.
func TestAClusterIsRealAndObeys(t *testing.T) {
	ctx := t.Context()
	var kubeconfig string
	t.Run("while the test runs", func(t *testing.T) {
		c := StartCluster(t, ClusterOptions{Nodes: 2})
		kubeconfig = c.Kubeconfig
		admin, err := kubernetes.NewForConfig(c.Config(t))
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 2 {
			t.Fatalf("got %d nodes and %v, want 2", len(nodes.Items), err)
		}

		file, err := c.User("eve")
		if err != nil {
			t.Fatal(err)
		}
		config, err := ConfigFrom(file)
		if err != nil {
			t.Fatal(err)
		}
		eve, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eve.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a user without rights listed nodes: %v", err)
		}

		if err := c.Stop(APIServer); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err == nil {
			t.Error("a stopped API server answers")
		}
		if err := c.Compact(); err != nil {
			t.Error(err)
		}
		if err := c.Start(APIServer); err != nil {
			t.Fatal(err)
		}
		if again, err := admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil || len(again.Items) != 2 {
			t.Errorf("got %d nodes and %v from the API server started again, want 2", len(again.Items), err)
		}
		if err := c.Stop("kube-proxy"); err == nil || !strings.Contains(err.Error(), "unknown component") {
			t.Errorf("got %v for a component that does not exist", err)
		}
	})
	if _, err := os.Stat(kubeconfig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfig outlives its cluster: %v", err)
	}
}

// script makes a program of a shell script, to play a kinglet-cluster that
// misbehaves.
func script(t *testing.T, lines ...string) ClusterOptions {
	t.Helper()
	file := t.TempDir() + "/program"
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return ClusterOptions{Program: file}
}

func TestAProgramThatFailsIsQuoted(t *testing.T) {
	const ready = `echo '{"event":"ready","kubeconfig":"k","server":"s"}'`
	for name, tc := range map[string]struct {
		lines []string
		want  []string
	}{
		"it ends at once":          {[]string{"echo no room >&2", "exit 3"}, []string{"exit status 3", "no room"}},
		"it says something else":   {[]string{`echo '{"event":"hello"}'`, "cat >/dev/null"}, []string{`"hello" instead of "ready"`}},
		"it talks no JSON":         {[]string{"echo ready"}, []string{`said "ready"`}},
		"it fails after the start": {[]string{ready, "read line", "echo 'what happened' >&2", "exit 4"}, []string{"exit status 4", "what happened"}},
		"it refuses a command":     {[]string{ready, "read line", `echo '{"event":"error","error":"not today"}'`, "cat >/dev/null"}, []string{"stop etcd", "not today"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := startCluster(t.Context(), script(t, tc.lines...))
			if err == nil {
				err = c.Stop(Etcd)
				_ = c.program.abandon()
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in the error: %v", want, err)
				}
			}
		})
	}
}

func TestWaitingForASilentProgramEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := startCluster(ctx, script(t, "echo thinking >&2", "cat >/dev/null"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

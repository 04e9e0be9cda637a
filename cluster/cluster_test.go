package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
)

// One control plane for all that can share one: every start costs seconds.
func TestControlPlane(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	failed := make(chan error, 16)
	var started []Component
	opts := Options{
		Dir:        filepath.Join(t.TempDir(), "data"),
		Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
		Nodes:      3,
		Started:    func(c Component, _ time.Duration) { started = append(started, c) },
		Failed:     func(err error) { failed <- err },
	}
	c := start(t, ctx, opts)
	client := clientOf(t, c)

	t.Run("starts its components in order", func(t *testing.T) {
		if got, want := fmt.Sprint(started), fmt.Sprint(Components()); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("says which release of Kubernetes it is, so that kubectl version can parse it", func(t *testing.T) {
		info, err := client.Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		got, err := version.ParseSemantic(info.GitVersion)
		if err != nil {
			t.Fatal(err)
		}
		// A test binary does not record its modules, so the patch is not known here.
		out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
		if err != nil {
			t.Fatal(err)
		}
		want := version.MustParseSemantic(strings.TrimSpace(string(out)))
		if got.Major() != want.Major() || got.Minor() != want.Minor() {
			t.Errorf("got %s, go.mod requires %s", info.GitVersion, want)
		}
	})
	t.Run("is the only one in the process", func(t *testing.T) {
		if _, err := Start(ctx, Options{}); !errors.Is(err, ErrRunning) {
			t.Errorf("got %v, want ErrRunning", err)
		}
	})
	t.Run("makes the pods of a deployment Ready", func(t *testing.T) {
		create(t, ctx, client, "first", 10)
		available(t, ctx, client, "first", 10)
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		addresses := map[string]bool{}
		for _, pod := range pods.Items {
			addresses[pod.Status.PodIP] = true
		}
		if len(pods.Items) != 10 || len(addresses) != 10 || addresses[""] {
			t.Errorf("got %d pods with the addresses %v, want 10 with one each", len(pods.Items), addresses)
		}
	})
	t.Run("writes kubeconfigs that work", func(t *testing.T) {
		for _, file := range []string{c.KubeconfigFile(), opts.Kubeconfig} {
			if err := list(ctx, t, file); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	})
	t.Run("forbids users and forgets them", func(t *testing.T) {
		file, err := c.AddUser(ctx, "eve")
		if err != nil {
			t.Fatal(err)
		}
		if err := list(ctx, t, file); !apierrors.IsForbidden(err) {
			t.Errorf("a new user got %v, want forbidden", err)
		}
		if err := c.RemoveUser(ctx, "eve"); err != nil {
			t.Fatal(err)
		}
		until(t, ctx, "the token is refused", func() bool { return apierrors.IsUnauthorized(list(ctx, t, file)) })
	})
	t.Run("resets watches when the API server stops, and starts it at the same address", func(t *testing.T) {
		w, err := client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		stop(t, ctx, c, APIServer)
		for range w.ResultChan() { // ends
		}
		if conn, err := net.Dial("tcp", c.address); err == nil {
			_ = conn.Close()
			t.Error("the port still accepts")
		}
		startComponent(t, ctx, c, APIServer)
		create(t, ctx, client, "second", 5)
		available(t, ctx, client, "second", 5)
	})
	t.Run("answers that a version is gone after compaction and a new start", func(t *testing.T) {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		scale(t, ctx, client, "second", 6)
		available(t, ctx, client, "second", 6)
		stop(t, ctx, c, APIServer)
		if _, err := c.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		startComponent(t, ctx, c, APIServer)
		_, err = client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Limit: 3, Continue: pods.Continue})
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("the next page got %v, want it expired", err)
		}
	})
	t.Run("survives the loss of each component", func(t *testing.T) {
		for i, component := range Components() {
			stop(t, ctx, c, component)
			startComponent(t, ctx, c, component)
			until(t, ctx, "the API server is ready", func() bool { return list(ctx, t, c.KubeconfigFile()) == nil })
			if component == Etcd || component == APIServer {
				// After outage upon outage, client-go's reflectors wait for up to
				// a minute; new ones do not.
				for _, dependent := range []Component{ControllerManager, Scheduler, Nodes} {
					stop(t, ctx, c, dependent)
					startComponent(t, ctx, c, dependent)
				}
			}
			scale(t, ctx, client, "first", 11+i)
			available(t, ctx, client, "first", 11+i)
		}
	})
	t.Run("stops in any order", func(t *testing.T) {
		for _, component := range Components() {
			stop(t, ctx, c, component)
		}
		for _, component := range Components() {
			startComponent(t, ctx, c, component)
		}
		scale(t, ctx, client, "first", 3)
		available(t, ctx, client, "first", 3)
	})
	address := c.address
	end(t, ctx, c, temp, opts.Kubeconfig)

	t.Run("starts again on the same data", func(t *testing.T) {
		c := start(t, ctx, opts)
		if c.address != address {
			t.Errorf("it moved from %s to %s", address, c.address)
		}
		client := clientOf(t, c)
		available(t, ctx, client, "first", 3)
		scale(t, ctx, client, "first", 4)
		available(t, ctx, client, "first", 4)
		end(t, ctx, c, temp, opts.Kubeconfig)
	})
	select {
	case err := <-failed:
		t.Errorf("failed on its own: %v", err)
	default:
	}
	// What ends last are timers of the API server's, a few seconds long.
	until(t, ctx, "its goroutines have ended", func() bool { return runtime.NumGoroutine() < 20 })
}

func start(t *testing.T, ctx context.Context, opts Options) *Cluster {
	t.Helper()
	c, err := Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// end stops c and looks for what it may have left in temp, at its port, or
// where its kubeconfig was.
func end(t *testing.T, ctx context.Context, c *Cluster, temp, kubeconfig string) {
	t.Helper()
	if err := c.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	if _, err := os.Stat(kubeconfig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfig is left: %v", err)
	}
	if conn, err := net.Dial("tcp", c.address); err == nil {
		_ = conn.Close()
		t.Error("the port still accepts")
	}
	if err := c.StartComponent(ctx, Etcd); !errors.Is(err, ErrStopped) {
		t.Errorf("a component of a stopped cluster: got %v, want ErrStopped", err)
	}
}

func clientOf(t *testing.T, c *Cluster) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func stop(t *testing.T, ctx context.Context, c *Cluster, component Component) {
	t.Helper()
	if err := c.StopComponent(ctx, component); err != nil {
		t.Fatal(err)
	}
}

func startComponent(t *testing.T, ctx context.Context, c *Cluster, component Component) {
	t.Helper()
	if err := c.StartComponent(ctx, component); err != nil {
		t.Fatal(err)
	}
}

// list lists nodes as the user of a kubeconfig.
func list(ctx context.Context, t *testing.T, kubeconfig string) error {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	return err
}

// until asks again and again: for what the server tells nobody about.
func until(t *testing.T, ctx context.Context, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func create(t *testing.T, ctx context.Context, client kubernetes.Interface, name string, replicas int) {
	t.Helper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example/app"}}},
			},
		},
	}
	// The default service account, which pods need, is made by a controller.
	until(t, ctx, name+" is created", func() bool {
		_, err := client.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

func scale(t *testing.T, ctx context.Context, client kubernetes.Interface, name string, replicas int) {
	t.Helper()
	until(t, ctx, name+" is scaled", func() bool {
		scale, err := client.AppsV1().Deployments("default").GetScale(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		scale.Spec.Replicas = int32(replicas)
		_, err = client.AppsV1().Deployments("default").UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
		return err == nil
	})
}

// available waits until a deployment has so many pods, all of them available.
func available(t *testing.T, ctx context.Context, client kubernetes.Interface, name string, replicas int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	lw := cache.NewListWatchFromClient(client.AppsV1().RESTClient(), "deployments", "default", fields.OneTermEqualSelector("metadata.name", name))
	var last appsv1.DeploymentStatus
	_, err := watchtools.UntilWithSync(ctx, lw, &appsv1.Deployment{}, nil, func(e watch.Event) (bool, error) {
		d, ok := e.Object.(*appsv1.Deployment)
		if !ok {
			return false, fmt.Errorf("got %v", e)
		}
		last = d.Status
		return d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == int32(replicas) &&
			d.Status.AvailableReplicas == int32(replicas), nil
	})
	if err != nil {
		t.Fatalf("%s has not %d available pods: %v; its status is %+v", name, replicas, err, last)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// panics starts children in which a handler panics, and checks that they end as
// documented.
type panics struct {
	kubeconfig string
	children   atomic.Uint64
}

// expectation is how a child must end.
type expectation struct {
	way  string
	code int
	// says are texts that stderr must have.
	says []string
}

func expectations() []expectation {
	where := panicNamespace + "/" + unlucky
	return []expectation{
		{typedEnds, childPanicked, []string{"handler \"" + panicHandler + "\" panicked on " + where, panicValue, "panicker"}},
		{typedRecovers, 0, nil},
		{dropInEnds, childPanicked, []string{where, panicValue, "panicker"}},
		{dropInSurvives, 0, []string{where, panicValue}},
	}
}

// prepare creates the objects that the children's handlers receive.
func (p *panics) prepare(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range []string{unlucky, lucky} {
		_, err := client.CoreV1().ConfigMaps(panicNamespace).Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs one child of each kind, until rough ends. It waits for a child that was
// started.
func (p *panics) run(ctx, rough context.Context) error {
	for _, e := range expectations() {
		if rough.Err() != nil {
			return nil
		}
		if err := p.child(ctx, e); err != nil {
			return err
		}
		p.children.Add(1)
	}
	return nil
}

func (p *panics) child(ctx context.Context, e expectation) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, exe, panicking, e.way, p.kubeconfig)
	cmd.Stderr = &stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	code := cmd.ProcessState.ExitCode()
	wrong := code != e.code
	for _, s := range e.says {
		wrong = wrong || !strings.Contains(stderr.String(), s)
	}
	if wrong {
		return fmt.Errorf("a process whose handler panics (%s) ended with %d and should have with %d, saying %q; it said:\n%s",
			e.way, code, e.code, e.says, stderr.String())
	}
	return nil
}

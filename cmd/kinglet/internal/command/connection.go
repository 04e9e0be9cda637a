package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/follow"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

// connection is the cluster that the flags and the kubeconfig describe.
type connection struct {
	flags *genericclioptions.ConfigFlags

	config    *rest.Config
	namespace string
	subject   trouble.Subject
}

func newConnection() *connection {
	c := &connection{flags: genericclioptions.NewConfigFlags(true)}
	c.flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.UserAgent = userAgent()
		// Nobody needs warnings about discovery's own requests.
		config.WarningHandler = rest.NoWarnings{}
		return config
	}
	return c
}

// open reads the kubeconfig. Nothing is sent yet.
func (c *connection) open(given *pflag.FlagSet) error {
	loader := c.flags.ToRawKubeConfigLoader()
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return c.explain(err)
	}
	if c.namespace, _, err = loader.Namespace(); err != nil {
		return c.explain(err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return c.explain(err)
	}
	if len(raw.Clusters) == 0 && *c.flags.APIServer == "" && config.BearerTokenFile == "" { // nor in a pod
		files := loader.ConfigAccess()
		if files.IsExplicitFile() {
			return fmt.Errorf("no cluster is configured: the kubeconfig %s has none", files.GetExplicitFile())
		}
		return fmt.Errorf("no cluster is configured: there is no kubeconfig at %s; set --kubeconfig or KUBECONFIG", strings.Join(files.GetLoadingPrecedence(), " or "))
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return errors.New("kubeconfig: the server's address is no URL; see: kubectl config view")
	}
	c.config = config
	c.subject = trouble.Subject{Server: server.Redacted(), Flags: flagsText(given)}
	name := raw.CurrentContext
	if *c.flags.Context != "" {
		name = *c.flags.Context
	}
	if *c.flags.AuthInfoName != "" {
		c.subject.User = *c.flags.AuthInfoName
	} else if context, ok := raw.Contexts[name]; ok && *c.flags.BearerToken == "" { // a token does not name its user
		c.subject.User = context.AuthInfo
	}
	return nil
}

// flagsText returns the flags that select the cluster, for commands that are proposed to
// the user, without flags that carry a secret.
func flagsText(given *pflag.FlagSet) string {
	var items []string
	for _, name := range []string{"kubeconfig", "context", "cluster", "user", "server"} {
		if f := given.Lookup(name); f != nil && f.Changed {
			items = append(items, "--"+name+" "+f.Value.String())
		}
	}
	return strings.Join(items, " ")
}

// explain describes what is wrong with the kubeconfig.
func (c *connection) explain(err error) error {
	text := trouble.OneLine(err.Error())
	switch {
	case errors.Is(err, fs.ErrNotExist) && *c.flags.KubeConfig != "":
		return fmt.Errorf("kubeconfig: there is no file %s", *c.flags.KubeConfig)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("kubeconfig: %w", err)
	case clientcmd.IsContextNotFound(err), strings.Contains(text, "context"):
		const most = 10
		if known := c.contexts(); len(known) > most {
			text += "; the kubeconfig has: " + strings.Join(known[:most], ", ") + ", …"
		} else if len(known) > 0 {
			text += "; the kubeconfig has: " + strings.Join(known, ", ")
		}
		return errors.New(text)
	}
	return fmt.Errorf("kubeconfig: %s; see: kubectl config view", strings.TrimPrefix(text, "invalid configuration: "))
}

// contexts returns the names of the kubeconfig's contexts, sorted.
func (c *connection) contexts() []string {
	raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// resolver resolves names by discovery, from the server or the cache of an earlier run.
func (c *connection) resolver() (*resolver, error) {
	mapper, err := c.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	discovery, err := c.flags.ToDiscoveryClient()
	return &resolver{mapper, discovery}, err
}

// slow is the time after which a person wonders what is taking so long.
const slow = 3 * time.Second

// resolve finds the resources. Discovery takes no context, so a request that is under way
// when ctx ends is abandoned.
func (c *connection) resolve(ctx context.Context, targets []target, note func(string)) (found []follow.Resource, errs []error) {
	done := make(chan struct{})
	var resources []follow.Resource
	var problems []error
	go func() {
		defer close(done)
		resolver, err := c.resolver()
		if err != nil {
			problems = []error{err}
			return
		}
		resources, problems = resolver.resolve(targets)
	}()
	waiting := time.AfterFunc(slow, func() { note("waiting for " + c.subject.Server + " …") })
	defer waiting.Stop()
	select {
	case <-done:
		return resources, problems
	case <-ctx.Done():
		return nil, nil
	}
}

// explainLookup describes an error of resolve.
func (c *connection) explainLookup(err error, targets []target) string {
	if _, ok := errors.AsType[*nameError](err); ok {
		return trouble.OneLine(err.Error())
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.resource)
	}
	subject := c.subject
	subject.Once = true
	if len(names) == 1 {
		subject.Resource = schema.ParseGroupResource(names[0]).String()
	}
	return strings.Join(slices.Compact(names), ",") + ": " + trouble.Explain(err, subject).Text
}

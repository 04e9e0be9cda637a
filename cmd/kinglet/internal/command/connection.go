package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/resolve"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

// unconfigured is the server that client-go falls back to.
const unconfigured = "http://localhost:8080"

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
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return c.explain(err)
	}
	loader := c.flags.ToRawKubeConfigLoader()
	if c.namespace, _, err = loader.Namespace(); err != nil {
		return c.explain(err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return c.explain(err)
	}
	if config.Host == unconfigured && len(raw.Clusters) == 0 && *c.flags.APIServer == "" {
		return fmt.Errorf("no cluster is configured: there is no kubeconfig at %s; set --kubeconfig or KUBECONFIG",
			strings.Join(clientcmd.NewDefaultClientConfigLoadingRules().GetLoadingPrecedence(), " or "))
	}
	c.config = config
	c.subject = trouble.Subject{Server: config.Host, User: c.user(raw), Flags: flagsText(given)}
	return nil
}

func (c *connection) user(raw clientcmdapi.Config) string {
	if *c.flags.BearerToken != "" {
		return "" // a token does not name its user
	}
	if *c.flags.AuthInfoName != "" {
		return *c.flags.AuthInfoName
	}
	name := raw.CurrentContext
	if *c.flags.Context != "" {
		name = *c.flags.Context
	}
	if context, ok := raw.Contexts[name]; ok {
		return context.AuthInfo
	}
	return ""
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
	switch {
	case errors.Is(err, fs.ErrNotExist) && *c.flags.KubeConfig != "":
		return fmt.Errorf("kubeconfig: there is no file %s", *c.flags.KubeConfig)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("kubeconfig: %w", err)
	case clientcmd.IsContextNotFound(err), strings.Contains(err.Error(), "context"):
		text := trouble.OneLine(err.Error())
		const most = 10
		if known := c.contexts(); len(known) > most {
			text += "; the kubeconfig has: " + strings.Join(known[:most], ", ") + ", …"
		} else if len(known) > 0 {
			text += "; the kubeconfig has: " + strings.Join(known, ", ")
		}
		return errors.New(text)
	}
	return fmt.Errorf("kubeconfig: %s; see: kubectl config view", strings.TrimPrefix(trouble.OneLine(err.Error()), "invalid configuration: "))
}

// contexts returns the names of the kubeconfig's contexts, sorted.
func (c *connection) contexts() []string {
	raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil
	}
	var names []string
	for name := range raw.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// resolver resolves names by discovery, from the server or the cache of an earlier run.
func (c *connection) resolver() (*resolve.Resolver, error) {
	mapper, err := c.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	discovery, err := c.flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return &resolve.Resolver{Mapper: mapper, Discovery: discovery}, nil
}

// slow is the time after which a person wonders what is taking so long.
const slow = 3 * time.Second

// resolve finds the resources. Discovery takes no context, so a request that is under way
// when ctx ends is abandoned.
func (c *connection) resolve(ctx context.Context, names []string, note func(string)) ([]resolve.Resource, []error) {
	type result struct {
		resources []resolve.Resource
		errs      []error
	}
	done := make(chan result, 1)
	go func() {
		resolver, err := c.resolver()
		if err != nil {
			done <- result{nil, []error{err}}
			return
		}
		resources, errs := resolver.Resolve(names)
		done <- result{resources, errs}
	}()
	waiting := time.NewTimer(slow)
	defer waiting.Stop()
	for {
		select {
		case r := <-done:
			return r.resources, r.errs
		case <-waiting.C:
			note("waiting for " + c.config.Host + " …")
		case <-ctx.Done():
			return nil, []error{ctx.Err()}
		}
	}
}

// explainLookup describes an error of resolve.
func (c *connection) explainLookup(err error, names []string) string {
	_, unknown := errors.AsType[*resolve.UnknownError](err)
	_, unwatchable := errors.AsType[*resolve.UnwatchableError](err)
	if unknown || unwatchable {
		return trouble.OneLine(err.Error())
	}
	subject := c.subject
	subject.Namespaced = false
	if gr := schema.ParseGroupResource(names[0]); len(names) == 1 {
		subject.Resource = gr.String()
	}
	return strings.Join(names, ",") + ": " + trouble.Explain(err, subject)
}

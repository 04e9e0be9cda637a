package command

import (
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// completeResources completes the last name of RESOURCE[,RESOURCE…].
func (c *connection) completeResources(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	if err := quieten(cmd.ErrOrStderr(), 0); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	resolver, err := c.resolver()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := resolver.Names()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, last) {
			found = append(found, before+name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFlags completes the values of -o, --context and -n.
func (c *connection) completeFlags(cmd *cobra.Command) {
	complete := map[string]cobra.CompletionFunc{
		"output": cobra.FixedCompletions([]string{"wide", "json"}, cobra.ShellCompDirectiveNoFileComp),
		"context": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return c.contexts(), cobra.ShellCompDirectiveNoFileComp
		},
		"namespace": func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return c.namespaces(cmd), cobra.ShellCompDirectiveNoFileComp
		},
	}
	for name, fn := range complete {
		if err := cmd.RegisterFlagCompletionFunc(name, fn); err != nil {
			panic("BUG: completion of --" + name + ": " + err.Error())
		}
	}
}

// namespaces returns the namespaces of the server, or none if it does not answer within
// the time that a user waits for completion.
func (c *connection) namespaces(cmd *cobra.Command) []string {
	if err := quieten(cmd.ErrOrStderr(), 0); err != nil {
		return nil
	}
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil
	}
	config.Timeout = slow
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	const most = 500
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(cmd.Context(), metav1.ListOptions{Limit: most})
	if err != nil {
		return nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names
}

package command

import (
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeResources completes the last name of RESOURCE[,RESOURCE…].
func (c *connection) completeResources(_ *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	logLevel(0)
	resolver, err := c.resolver()
	if err != nil || len(args) > 0 {
		return nil, noFiles
	}
	names, _ := resolver.watchable() // none, if there is an error
	for _, name := range names {
		if strings.HasPrefix(name, last) {
			found = append(found, before+name)
		}
	}
	return found, noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeFlags completes the values of -o, --context and -n.
func (c *connection) completeFlags(cmd *cobra.Command, outputs ...string) {
	for name, fn := range map[string]cobra.CompletionFunc{
		"output": cobra.FixedCompletions(outputs, noFiles),
		"context": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return c.contexts(), noFiles
		},
		"namespace": func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return c.namespaces(cmd), noFiles
		},
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, fn); err != nil {
			panic("BUG: completion of --" + name + ": " + err.Error())
		}
	}
}

// namespaces returns the namespaces of the server, or none if it does not answer within
// the time that a user waits for completion.
func (c *connection) namespaces(cmd *cobra.Command) (names []string) {
	logLevel(0)
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil
	}
	config.Timeout = slow
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(cmd.Context(), metav1.ListOptions{Limit: 500})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

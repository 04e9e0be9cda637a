package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest"
)

// likeEnvtest makes the control plane what suites for envtest expect: there are
// no nodes but those that they create, and nobody changes their pods. The
// controller manager stays, since no pod can be created without the service
// account that it makes in each namespace; envtest turns that admission off. It goes
// where unmanaged is set, for suites that count what is in a namespace.
func likeEnvtest(ctx context.Context, c *kinglettest.Cluster, unmanaged bool) error {
	stopped := []string{kinglettest.Nodes, kinglettest.Scheduler}
	if unmanaged {
		stopped = append(stopped, kinglettest.ControllerManager)
	}
	for _, component := range stopped {
		if err := c.Stop(component); err != nil {
			return err
		}
	}
	config, err := kinglettest.ConfigFrom(c.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.Server+"/api/v1/nodes", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("delete the control plane's nodes: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body) // beside the status, for what it is worth
		return fmt.Errorf("delete the control plane's nodes: %s: %s", resp.Status, text)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest"
)

// offInEnvtest are the admission plugins that envtest switches off: without a
// controller manager no namespace has a service account.
var offInEnvtest = []string{"ServiceAccount"}

// likeEnvtest makes the control plane what suites for envtest expect: an API server
// where nobody but the tests creates or changes anything.
func likeEnvtest(ctx context.Context, c *kinglettest.Cluster) error {
	for _, component := range []string{kinglettest.Nodes, kinglettest.Scheduler, kinglettest.ControllerManager} {
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

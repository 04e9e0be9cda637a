//go:build e2e

package programs

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/test/internal/history"
	"github.com/kinglet-go/kinglet/test/interop/programs/website"
)

func testController(t *testing.T, s *server, _ *kinglettest.Cluster) {
	ss := newSites(t, s, "sample")
	c := must(website.New(kubernetes.NewForConfigOrDie(s.config), must(website.NewClient(s.config)), "sample"))
	websites, deployments := history.New("websites"), history.New("deployments")
	must(c.Sites.AddEventHandler(history.Plain{History: websites}))
	must(c.Deployments.AddEventHandler(history.Plain{History: deployments}))
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, 2) }()
	defer func() {
		stop()
		check(t, <-ended)
		if !c.Sites.IsStopped() || !c.Deployments.IsStopped() {
			t.Error("an informer has not stopped")
		}
	}()

	ss.play(t)
	ss.websites.settled(t, websites, stored[website.Website](c.Sites.GetStore()))
	ss.deployments.settled(t, deployments, stored[appsv1.Deployment](c.Deployments.GetStore()))
}

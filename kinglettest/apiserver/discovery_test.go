package apiserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

func TestDiscoveryFindsTheResourcesOfTheStorage(t *testing.T) {
	widgets := func(version, resource string) apiserver.Resource {
		gvr := schema.GroupVersionResource{Group: "example.com", Version: version, Resource: resource}
		return apiserver.Resource{GroupVersionResource: gvr, Kind: "Widget" + version, Status: resource == "widgets"}
	}
	for _, content := range []string{runtime.ContentTypeJSON, contentProtobuf} {
		storage := apiserver.NewStorage(apiserver.Pods, apiserver.Nodes, apiserver.ConfigMaps, widgets("v1beta1", "olds"), widgets("v1", "widgets"),
			apiserver.Resource{GroupVersionResource: appsv1.SchemeGroupVersion.WithResource("deployments"), Kind: "Deployment"})
		server := apiserver.New(storage, apiserver.Options{Token: "secret", Version: apiserver.V134})
		config := server.Config()
		config.ContentType = content
		client := discovery.NewDiscoveryClientForConfigOrDie(config)
		groups, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range groups {
			got = append(got, fmt.Sprintf("group %q %s of %d", g.Name, g.PreferredVersion.Version, len(g.Versions)))
		}
		for _, l := range lists {
			for _, r := range l.APIResources {
				got = append(got, fmt.Sprintf("%s %s %s %v %d", l.GroupVersion, r.Name, r.Kind, r.Namespaced, len(r.Verbs)))
			}
		}
		want := []string{
			`group "" v1 of 1`, `group "apps" v1 of 1`, `group "example.com" v1 of 2`,
			"v1 configmaps ConfigMap true 8", "v1 nodes Node false 8", "v1 nodes/status Node false 3", "v1 pods Pod true 8", "v1 pods/status Pod true 3",
			"apps/v1 deployments Deployment true 8", "apps/v1 deployments/status Deployment true 3",
			"example.com/v1 widgets Widgetv1 true 8", "example.com/v1 widgets/status Widgetv1 true 3", "example.com/v1beta1 olds Widgetv1beta1 true 8",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n %s\nwant\n %s", content, strings.Join(got, "\n "), strings.Join(want, "\n "))
		}
		if v, err := client.ServerVersion(); err != nil || v.GitVersion != "v1.34.0" {
			t.Errorf("the version is %v, %v", v, err)
		}
		if _, err := client.ServerResourcesForGroupVersion("example.com/v3"); !apierrors.IsNotFound(err) {
			t.Errorf("a version that is not served: %v", err)
		}
		if n := server.Requests(); n != 0 {
			t.Errorf("%d requests were counted", n)
		}
		storage.Undefine(schema.GroupResource{Group: "example.com", Resource: "olds"})
		storage.Undefine(schema.GroupResource{Group: "example.com", Resource: "widgets"})
		if g, err := client.ServerGroups(); err != nil || len(g.Groups) != 2 {
			t.Errorf("without the definitions: %v, %v", g, err)
		}
		other := rest.CopyConfig(config)
		other.BearerToken = "other"
		if _, err := discovery.NewDiscoveryClientForConfigOrDie(other).ServerVersion(); !apierrors.IsUnauthorized(err) {
			t.Errorf("with another token: %v", err)
		}
		server.Close()
	}
}

func TestAResourceIsDefinedOnce(t *testing.T) {
	again := apiserver.ConfigMaps
	again.Version = "v2"
	for _, r := range []apiserver.Resource{apiserver.ConfigMaps, again} {
		s := apiserver.NewStorage(apiserver.ConfigMaps)
		func() {
			defer func() {
				if why := fmt.Sprint(recover()); !strings.Contains(why, "configmaps is defined in version v1 already") {
					t.Errorf("%v: %s", r, why)
				}
			}()
			s.Define(r)
		}()
		s.Undefine(apiserver.ConfigMaps.GroupResource())
		s.Define(r)
	}
}

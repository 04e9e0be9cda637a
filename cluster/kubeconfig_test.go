package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestOnlyOurOwnKubeconfigsAreReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := mayReplaceKubeconfig(file); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[clusterName] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	if err := mayReplaceKubeconfig(file); err != nil {
		t.Errorf("one of ours: %v", err)
	}
	config.Clusters["production"] = &clientcmdapi.Cluster{Server: "https://example.com"}
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	if mayReplaceKubeconfig(file) == nil {
		t.Error("one that somebody else needs would be replaced")
	}
	if err := os.WriteFile(file, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if mayReplaceKubeconfig(file) == nil {
		t.Error("a file that is no kubeconfig would be replaced")
	}
}

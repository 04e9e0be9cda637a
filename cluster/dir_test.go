package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestAFolderBelongsToOneClusterAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	first, err := openFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(path); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	second, err := openFolder(path)
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	if err := second.close(); err != nil {
		t.Error(err)
	}
}

func TestATemporaryFolderGoesWhenItIsClosed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := openFolder("")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestIdentityIsMadeOnceAndKept(t *testing.T) {
	d := &folder{path: t.TempDir()}
	first, err := d.loadIdentity()
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.loadIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if string(first.ca) != string(second.ca) || first.tokens[adminUser] != second.tokens[adminUser] {
		t.Error("it has changed")
	}
	seen := map[string]bool{}
	for _, token := range first.tokens {
		seen[token] = true
	}
	if len(seen) != len(users()) || seen[""] {
		t.Errorf("%d users have %d tokens", len(users()), len(seen))
	}
	for _, secret := range []string{servingKeyFile, serviceAccountKeyFile, tokensFile} {
		info, err := os.Stat(d.file(secret))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", secret, info.Mode())
		}
	}
}

func TestDamagedFilesAreNamed(t *testing.T) {
	for _, file := range []string{tokensFile, addressFile} {
		d := &folder{path: t.TempDir()}
		if err := os.WriteFile(d.file(file), []byte("\"damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, identityErr := d.loadIdentity()
		_, addressErr := d.loadAddress()
		err := errors.Join(identityErr, addressErr)
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v", file, err)
		}
	}
}

func TestOptionsThatMakeNoSenseAreAllNamed(t *testing.T) {
	_, err := Start(t.Context(), Options{
		Nodes: -1, Deployments: -1, Replicas: -1, Churn: -1, Verbosity: -1,
		Components: []Component{"kube-proxy"},
	})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 6 {
		t.Errorf("got %v, want six errors", err)
	}
}

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

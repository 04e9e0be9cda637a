package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// clusterName names the cluster and the context in every kubeconfig written
// here, and marks a file as ours.
const clusterName = "kinglet"

func (c *Cluster) kubeconfigFor(user, token string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[clusterName] = &clientcmdapi.Cluster{
		Server:                   c.Server(),
		CertificateAuthorityData: c.identity.ca,
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[clusterName] = &clientcmdapi.Context{Cluster: clusterName, AuthInfo: user}
	config.CurrentContext = clusterName
	return config
}

// writeKubeconfigs writes the administrator's and the components' kubeconfigs.
func (c *Cluster) writeKubeconfigs() error {
	for file, user := range map[string]string{
		c.dir.file(kubeconfigFile):                  adminUser,
		c.dir.file(controllerManagerKubeconfigFile): controllerManagerUser,
		c.dir.file(schedulerKubeconfigFile):         schedulerUser,
	} {
		if err := clientcmd.WriteToFile(*c.kubeconfigFor(user, c.identity.tokens[user]), file); err != nil {
			return err
		}
	}
	if c.opts.Kubeconfig == "" {
		return nil
	}
	if err := mayReplaceKubeconfig(c.opts.Kubeconfig); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*c.kubeconfigFor(adminUser, c.identity.tokens[adminUser]), c.opts.Kubeconfig)
}

// removeKubeconfig removes what was written outside of the cluster's folder.
func (c *Cluster) removeKubeconfig() error {
	if c.opts.Kubeconfig == "" {
		return nil
	}
	if file, err := filepath.Abs(c.opts.Kubeconfig); err == nil && file == c.dir.file(kubeconfigFile) {
		return nil
	}
	if mayReplaceKubeconfig(c.opts.Kubeconfig) != nil {
		return nil // somebody made it theirs
	}
	if err := os.Remove(c.opts.Kubeconfig); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// mayReplaceKubeconfig refuses a file that somebody may want to keep.
func mayReplaceKubeconfig(file string) error {
	config, err := clientcmd.LoadFromFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kubeconfig is not replaced: %w", err)
	}
	if len(config.Clusters) != 1 || config.Clusters[clusterName] == nil {
		return fmt.Errorf("kubeconfig is not replaced: %s describes other clusters", file)
	}
	return nil
}

func (c *Cluster) restConfig(token string) *rest.Config {
	return &rest.Config{
		Host:            c.Server(),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.identity.ca},
		QPS:             -1, // no limit: the server has its own
	}
}

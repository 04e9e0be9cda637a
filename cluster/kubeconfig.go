package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
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

// userNamespace holds the service accounts that AddUser makes.
const userNamespace = metav1.NamespaceDefault

// AddUser makes a user who may ask what the API offers and nothing else, until
// somebody grants more: the service account "default/name", with a token that
// is good for an hour. It returns the file of the user's kubeconfig, in the
// cluster's folder. A name that exists gets a new token.
func (c *Cluster) AddUser(ctx context.Context, name string) (kubeconfig string, err error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return "", err
	}
	accounts := client.CoreV1().ServiceAccounts(userNamespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("cluster: add user %s: %w", name, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	granted, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("cluster: token for user %s: %w", name, err)
	}
	file := filepath.Join(c.dir.path, "users", name+".kubeconfig")
	if err := clientcmd.WriteToFile(*c.kubeconfigFor(name, granted.Status.Token), file); err != nil {
		return "", err
	}
	return file, nil
}

// RemoveUser takes back what AddUser made: within about a second, the server
// answers the user's token with 401. The kubeconfig stays, to try that with.
func (c *Cluster) RemoveUser(ctx context.Context, name string) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return err
	}
	if err := client.CoreV1().ServiceAccounts(userNamespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("cluster: remove user %s: %w", name, err)
	}
	return nil
}

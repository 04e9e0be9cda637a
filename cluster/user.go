package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

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

package cluster

import (
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Users of the control plane itself. All are administrators; the names tell
// them apart in managed fields and in the log.
const (
	adminUser             = "kubernetes-admin"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
	nodesUser             = "kinglet-nodes"
	churnUser             = "kinglet-churn"

	adminGroup = "system:masters"
)

func users() []string {
	return []string{adminUser, controllerManagerUser, schedulerUser, nodesUser, churnUser}
}

// identity is what the folder's keys and tokens say.
type identity struct {
	ca     []byte            // PEM, trusts the API server's certificate
	tokens map[string]string // by user
}

// loadIdentity reads the folder's keys and tokens, and makes what is missing.
func (d *folder) loadIdentity() (*identity, error) {
	if err := d.ensureServingCert(); err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	if _, _, err := keyutil.LoadOrGenerateKeyFile(d.file(serviceAccountKeyFile)); err != nil {
		return nil, fmt.Errorf("service account key: %w", err)
	}
	tokens, err := d.loadTokens()
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	ca, err := os.ReadFile(d.file(servingCertFile))
	if err != nil {
		return nil, err
	}
	return &identity{ca: ca, tokens: tokens}, nil
}

func (d *folder) ensureServingCert() error {
	cert, key := d.file(servingCertFile), d.file(servingKeyFile)
	if ok, err := certutil.CanReadCertAndKey(cert, key); ok || err != nil {
		return err
	}
	// One file holds the certificate and the authority that signed it, whose
	// key is forgotten.
	certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey("127.0.0.1",
		[]net.IP{net.IPv4(172, 20, 0, 1)}, // the service "kubernetes"
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"})
	if err != nil {
		return err
	}
	if err := certutil.WriteCert(cert, certPEM); err != nil {
		return err
	}
	return keyutil.WriteKey(key, keyPEM)
}

// loadTokens reads the static token file (token,user,uid,"groups"), or makes it.
func (d *folder) loadTokens() (map[string]string, error) {
	raw, err := os.ReadFile(d.file(tokensFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d.makeTokens()
	}
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.file(tokensFile), err)
	}
	tokens := map[string]string{}
	for _, row := range rows {
		if len(row) >= 2 {
			tokens[row[1]] = row[0]
		}
	}
	for _, user := range users() {
		if tokens[user] == "" {
			return nil, fmt.Errorf("%s has no token for %s; remove it to have a new one made", d.file(tokensFile), user)
		}
	}
	return tokens, nil
}

func (d *folder) makeTokens() (map[string]string, error) {
	tokens := map[string]string{}
	var out strings.Builder
	w := csv.NewWriter(&out)
	for _, user := range users() {
		tokens[user] = rand.Text()
		if err := w.Write([]string{tokens[user], user, user, adminGroup}); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return tokens, os.WriteFile(d.file(tokensFile), []byte(out.String()), 0o600)
}

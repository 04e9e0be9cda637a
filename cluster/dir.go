package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// Files in a cluster's folder. All but the log decide who the cluster is, and
// outlive it.
const (
	servingCertFile                 = "apiserver.crt"
	servingKeyFile                  = "apiserver.key"
	serviceAccountKeyFile           = "service-account.key"
	tokensFile                      = "tokens.csv"
	kubeconfigFile                  = "kubeconfig"
	controllerManagerKubeconfigFile = "controller-manager.kubeconfig"
	schedulerKubeconfigFile         = "scheduler.kubeconfig"
	addressFile                     = "address.json"
	logFile                         = "cluster.log"
	lockFile                        = "lock"
)

// folder is where a cluster lives, locked against other processes.
type folder struct {
	path      string
	temporary bool
	lock      *fileutil.LockedFile
	log       *os.File
}

// openFolder opens path, or a new temporary folder if path is empty.
func openFolder(path string) (_ *folder, err error) {
	d := &folder{path: path}
	if path == "" {
		d.temporary = true
		if d.path, err = os.MkdirTemp("", "kinglet-cluster-"); err != nil {
			return nil, err
		}
	} else {
		if d.path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(d.path, 0o700); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			_ = d.close()
		}
	}()
	d.lock, err = fileutil.TryLockFile(d.file(lockFile), os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("%w: %s", ErrInUse, d.path)
	}
	if err != nil {
		return nil, err
	}
	d.log, err = os.OpenFile(d.file(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (d *folder) file(name string) string { return filepath.Join(d.path, name) }

// close unlocks the folder, and removes it if it is temporary.
func (d *folder) close() error {
	var errs []error
	if d.log != nil {
		errs = append(errs, d.log.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	if d.temporary {
		errs = append(errs, os.RemoveAll(d.path))
	}
	return errors.Join(errs...)
}

type savedAddress struct {
	APIServer string `json:"apiServer"`
}

// loadAddress returns where the folder's API server listened last, or "".
func (d *folder) loadAddress() (string, error) {
	raw, err := os.ReadFile(d.file(addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var saved savedAddress
	if err := json.Unmarshal(raw, &saved); err != nil {
		return "", fmt.Errorf("%s: %w", d.file(addressFile), err)
	}
	return saved.APIServer, nil
}

func (d *folder) saveAddress(address string) error {
	raw, err := json.Marshal(savedAddress{APIServer: address})
	if err != nil {
		return err
	}
	return os.WriteFile(d.file(addressFile), raw, 0o600)
}

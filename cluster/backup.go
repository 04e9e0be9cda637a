package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"google.golang.org/grpc"
)

// Backup writes a snapshot of etcd to a file that does not exist yet, as
// "etcdctl snapshot save" does, and returns the revision that the snapshot has.
// Etcd must be running.
func (c *Cluster) Backup(ctx context.Context, file string) (revision int64, err error) {
	c.mu.Lock()
	_, runs := c.running[Etcd]
	c.mu.Unlock()
	if !runs {
		return 0, errors.New("cluster: backup: etcd does not run")
	}
	logger := c.etcdLogger()
	manager := snapshot.NewV3(logger)
	config := clientv3.Config{
		Endpoints: []string{etcdEndpoint(c.socket)},
		Context:   ctx,
		Logger:    logger,
		// A server that has just started may not be listening yet.
		DialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.WaitForReady(true))},
	}
	if _, err := manager.Save(ctx, config, file); err != nil {
		return 0, fmt.Errorf("cluster: backup: %w", err)
	}
	status, err := manager.Status(file)
	if err != nil {
		return 0, fmt.Errorf("cluster: backup: %w", err)
	}
	return status.Revision, nil
}

// Restore replaces etcd's data with a snapshot, as "etcdutl snapshot restore"
// does: revisions go back to that of the snapshot and are given out anew. Etcd
// must be stopped. An API server that runs meanwhile keeps what its watch caches
// hold: see "Restored backups" in the package documentation.
//
// A bump of more than 0 is added to the revision, and everything before is
// marked as compacted: the flags --bump-revision and --mark-compacted, with which
// clients notice by themselves.
func (c *Cluster) Restore(ctx context.Context, file string, bump uint64) error {
	if err := c.acquire(ctx); err != nil {
		return fmt.Errorf("cluster: restore: %w", err)
	}
	defer c.release()
	c.mu.Lock()
	_, runs := c.running[Etcd]
	stopped := c.stopped
	c.mu.Unlock()
	switch {
	case stopped:
		return ErrStopped
	case runs:
		return errors.New("cluster: restore: etcd runs")
	}
	data := etcdDir(c.dir.path)
	restored := data + ".restored"
	member := etcdConfig(data)
	err := snapshot.NewV3(c.etcdLogger()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        file,
		Name:                member.Name,
		OutputDataDir:       restored,
		PeerURLs:            []string{member.AdvertisePeerUrls[0].String()},
		InitialCluster:      member.InitialCluster,
		InitialClusterToken: member.InitialClusterToken,
		RevisionBump:        bump,
		MarkCompacted:       bump > 0,
	})
	if err == nil {
		err = os.RemoveAll(data)
	}
	if err == nil {
		err = os.Rename(restored, data)
	}
	if err != nil {
		return fmt.Errorf("cluster: restore: %w", errors.Join(err, os.RemoveAll(restored)))
	}
	return nil
}

func etcdDir(cluster string) string { return filepath.Join(cluster, "etcd") }

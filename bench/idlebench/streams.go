package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// streams are bare watches: what is read is not looked at, but counted.
type streams struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	first  sync.WaitGroup
	all    []*stream
}

type stream struct {
	// bytes were read in all; initial is how many the initial events take.
	bytes, initial atomic.Int64
	failed         atomic.Pointer[error]
}

func startStreams(ctx context.Context, client *rest.RESTClient, n, objects int) (idle, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &streams{cancel: cancel}
	for i := range n {
		initial, err := newWire().initial(namespaceOf(i), objects, firstRV)
		if err != nil {
			cancel()
			return nil, err
		}
		st := &stream{}
		st.initial.Store(int64(len(initial)))
		s.all = append(s.all, st)
		s.first.Add(1)
		s.done.Go(func() {
			arrived := sync.OnceFunc(s.first.Done)
			defer arrived()
			if err := st.read(ctx, client, namespaceOf(i), arrived); err != nil && ctx.Err() == nil {
				st.failed.Store(&err)
			}
		})
	}
	return s, nil
}

func (st *stream) read(ctx context.Context, client *rest.RESTClient, namespace string, arrived func()) error {
	yes := true
	body, err := client.Get().Namespace(namespace).Resource("configmaps").
		VersionedParams(&metav1.ListOptions{
			Watch: true, AllowWatchBookmarks: true,
			SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}, scheme.ParameterCodec).
		Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	buf := make([]byte, 512)
	for {
		n, err := body.Read(buf)
		if st.bytes.Add(int64(n)) >= st.initial.Load() {
			arrived()
		}
		if err != nil {
			return err
		}
	}
}

func (s *streams) synced(context.Context) error {
	s.first.Wait()
	for i, st := range s.all {
		if err := st.failed.Load(); err != nil {
			return fmt.Errorf("stream %d: %w", i, *err)
		}
	}
	return nil
}

func (s *streams) behind(string) (n int) {
	for _, st := range s.all {
		if st.bytes.Load() <= st.initial.Load() || st.failed.Load() != nil {
			n++
		}
	}
	return n
}

func (s *streams) stop() {
	s.cancel()
	s.done.Wait()
}

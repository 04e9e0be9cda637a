package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// freshness is how long a server that lags waits for the revision of a request before it
// answers that it does not have it.
const freshness = 3 * time.Second

// token is a continue token, in the format of real servers.
type token struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

func (t token) String() string {
	b, err := json.Marshal(&t)
	if err != nil {
		panic(fmt.Sprintf("BUG: a continue token: %v", err))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseToken(s string) (t token, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	switch {
	case err != nil:
	case t.APIVersion != "meta.k8s.io/v1":
		err = fmt.Errorf("server encoded version is not recognized: %s", t.APIVersion)
	case t.ResourceVersion == 0 || t.StartKey == "":
		err = errors.New("incorrect start resourceVersion or key")
	}
	if err != nil {
		return t, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
	}
	return t, nil
}

// startKey is the first key after one, as tokens name it.
func startKey(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name + "\x00"
	}
	return key.Namespace + "/" + key.Name + "\x00"
}

// page is a page of a list.
type page struct {
	items    []runtime.Object
	revision int64
	next     string
	left     *int64
}

// list reads a page of a list from the Storage.
func (s *Server) list(ctx context.Context, c *call) (*page, error) {
	if c.Options.Continue != "" {
		t, err := parseToken(c.Options.Continue)
		if err != nil {
			return nil, err
		}
		if rv := c.Options.ResourceVersion; rv != "" && rv != "0" {
			return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		if t.ResourceVersion < 0 {
			// An inconsistent continuation: the present objects from there on.
			t.ResourceVersion = s.storage.Revision()
		} else if err := s.waitForExactly(ctx, t.ResourceVersion); err != nil {
			return nil, err // the storage was restored, or restarted
		}
		return s.listAt(c, t.ResourceVersion, t.StartKey)
	}
	at, err := s.listRevision(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.listAt(c, at, "")
}

// listRevision returns the revision of a list, by the table in "Resource versions" of
// Kubernetes' API concepts.
func (s *Server) listRevision(ctx context.Context, c *call) (int64, error) {
	rv, err := revision(c.Options.ResourceVersion)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	visible, _, _ := s.visible()
	visible -= c.fault.Behind
	switch {
	case c.Options.ResourceVersion == "":
		// A consistent read is answered by a server that is behind as well: it
		// asks the storage.
		return s.storage.Revision() - c.fault.Behind, nil
	case c.exact():
		return rv, s.waitForExactly(ctx, rv)
	case rv > visible:
		return s.waitFor(ctx, rv)
	}
	return visible, nil
}

// exact reports whether a list is of one version, and no later one.
func (c *call) exact() bool {
	switch rv := c.Options.ResourceVersion; c.Options.ResourceVersionMatch {
	case metav1.ResourceVersionMatchExact:
		return true
	case "":
		_, one := c.single()
		return c.Options.Limit > 0 && rv != "" && rv != "0" && !one
	}
	return false
}

// waitFor waits up to freshness for a revision.
func (s *Server) waitFor(ctx context.Context, rv int64) (int64, error) {
	late := time.NewTimer(freshness)
	defer late.Stop()
	for {
		changed := s.storage.changes()
		visible, _, moved := s.visible()
		if visible >= rv {
			return visible, nil
		}
		select {
		case <-changed:
		case <-moved:
		case <-late.C:
			return 0, tooLarge(rv, visible)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// waitForExactly waits until a list at rv itself can be answered. A watch cache
// with snapshots waits for rv a little; etcd refuses a revision that it has not reached.
func (s *Server) waitForExactly(ctx context.Context, rv int64) error {
	if s.opts.Version.snapshots() {
		_, err := s.waitFor(ctx, rv)
		return err
	}
	if rv > s.storage.Revision() {
		return text(futureRevision)
	}
	return nil
}

func tooLarge(rv, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", rv, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// revision parses a resource version; an empty one is 0.
func revision(rv string) (int64, error) {
	if rv == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(rv, 10, 63)
	if err != nil {
		return 0, text(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", rv, err))
	}
	return int64(n), nil
}

// Texts of a real server.
const (
	continueTooOld = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - " +
		"objects that were created, modified, or deleted between the time the first chunk was returned and now may " +
		"show up in the list."
	versionTooOld  = "The resourceVersion for the provided list is too old."
	futureRevision = "etcdserver: mvcc: required revision is a future revision"
)

// listAt returns the objects at a revision, from a key on.
func (s *Server) listAt(c *call, at int64, start string) (*page, error) {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	col := s.storage.resources[c.Resource]
	if col == nil {
		return nil, unknownPath()
	}
	// What a server that lags knows is in its watch cache, whatever is compacted.
	if at < s.storage.compacted && (start != "" || c.exact()) {
		err := apierrors.NewResourceExpired(versionTooOld)
		if start != "" {
			err.ErrStatus.Message = continueTooOld
			err.ErrStatus.Continue = token{"meta.k8s.io/v1", -1, start}.String()
		}
		return nil, err
	}
	all := slices.DeleteFunc(inOrder(col.atLocked(at)), func(obj runtime.Object) bool { return !c.inRange(keyOf(obj)) })
	p := &page{revision: at}
	if start != "" {
		i, _ := slices.BinarySearchFunc(all, start, func(obj runtime.Object, start string) int {
			return strings.Compare(strings.TrimSuffix(startKey(keyOf(obj)), "\x00"), c.absolute(start))
		})
		all = all[i:]
	}
	limit := c.Options.Limit
	if c.Options.ResourceVersion == "0" {
		limit = 0 // as the watch cache of a real server has it
	}
	for i, obj := range all {
		if !c.selects(obj) {
			continue
		}
		p.items = append(p.items, obj)
		// Whether the selectors match any of the rest is not looked at.
		if left := int64(len(all) - i - 1); left > 0 && int64(len(p.items)) == limit {
			p.next = token{"meta.k8s.io/v1", at, c.relative(startKey(keyOf(obj)))}.String()
			if c.labels.Empty() && c.fields.Empty() {
				p.left = &left
			}
			break
		}
	}
	return p, nil
}

// inRange reports whether a list reads a key at all: ListPredicate in
// k8s.io/apiserver/pkg/registry/generic/registry.
func (c *call) inRange(key types.NamespacedName) bool {
	if name, one := c.single(); one && key.Name != name {
		return false
	}
	namespace := c.within()
	return namespace == "" || key.Namespace == namespace
}

// single returns the name of the only object that a list reads, if that is all of its key.
func (c *call) single() (name string, one bool) {
	name, one = c.fields.RequiresExactMatch("metadata.name")
	return name, one && c.Options.Continue == "" && (c.resource.ClusterScoped || c.within() != "")
}

// within returns the only namespace that a list reads: that of the request, or the one that it
// selects.
func (c *call) within() string {
	if c.Namespace == "" && !c.resource.ClusterScoped {
		if selected, ok := c.fields.RequiresExactMatch("metadata.namespace"); ok && len(validation.ValidateNamespaceName(selected, false)) == 0 {
			return selected
		}
	}
	return c.Namespace
}

// relative and absolute remove the namespace of a list from its token's key and add it
// again: the keys in real tokens are relative to the list.
func (c *call) relative(key string) string {
	return strings.TrimPrefix(key, c.within()+"/")
}

func (c *call) absolute(key string) string {
	if namespace := c.within(); namespace != "" {
		return namespace + "/" + key
	}
	return key
}

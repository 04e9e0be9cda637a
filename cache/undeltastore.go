package cache

// UndeltaStore is a Store that calls PushFunc with its whole contents after each
// write that succeeded. PushFunc is called by the goroutine that wrote, under
// no lock; after concurrent writes it may be told of the same contents twice,
// and of older ones after newer ones.
type UndeltaStore struct {
	Store
	PushFunc func([]any)
}

var _ Store = (*UndeltaStore)(nil)

// NewUndeltaStore returns an empty UndeltaStore.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// push passes a write's error on, or the contents if there is none.
func (u *UndeltaStore) push(err error) error {
	if err == nil {
		u.PushFunc(u.List())
	}
	return err
}

// Add stores an object.
func (u *UndeltaStore) Add(obj any) error { return u.push(u.Store.Add(obj)) }

// Update stores an object.
func (u *UndeltaStore) Update(obj any) error { return u.push(u.Store.Update(obj)) }

// Delete removes the object that has obj's key.
func (u *UndeltaStore) Delete(obj any) error { return u.push(u.Store.Delete(obj)) }

// Replace stores this and nothing else.
func (u *UndeltaStore) Replace(list []any, resourceVersion string) error {
	return u.push(u.Store.Replace(list, resourceVersion))
}

package cache

// UndeltaStore is a Store that calls PushFunc with its whole contents after each
// successful write. The goroutine that wrote calls PushFunc, under no lock;
// after concurrent writes it may receive the same contents twice, and older ones
// after newer ones.
type UndeltaStore struct {
	Store
	PushFunc func([]any)
}

var _ Store = (*UndeltaStore)(nil)

// NewUndeltaStore returns an empty UndeltaStore.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// push returns a write's error, or passes the contents on if there is none.
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

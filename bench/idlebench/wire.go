package main

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	streamType = runtime.ContentTypeProtobuf + ";stream=watch"
	firstRV    = 1000
)

// collection is what namespace holds: n small ConfigMaps.
func collection(namespace string, n int) *corev1.ConfigMapList {
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: version(firstRV)}}
	list.APIVersion, list.Kind = "v1", "ConfigMapList"
	for i := range n {
		list.Items = append(list.Items, corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       namespace,
				Name:            fmt.Sprintf("settings-%03d", i),
				UID:             types.UID(fmt.Sprintf("%08d-0000-4000-8000-%s", i, namespace)),
				ResourceVersion: version(firstRV - n + i),
				Labels:          map[string]string{"app": fmt.Sprintf("app-%d", i%3)},
			},
			Data: map[string]string{"level": "info", "endpoint": "https://" + namespace + ".example:8443"},
		})
	}
	return list
}

// bookmark says that all was sent up to rv; end marks the end of the initial
// events.
func bookmark(rv int, end bool) *corev1.ConfigMap {
	b := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version(rv)}}
	if end {
		b.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return b
}

func version(rv int) string { return fmt.Sprint(rv) }

// wire encodes as an API server does.
type wire struct {
	object *protobuf.Serializer
	event  *protobuf.RawSerializer
}

func newWire() *wire {
	return &wire{
		object: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
		event:  protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme),
	}
}

func (w *wire) list(namespace string, n int) ([]byte, error) {
	var b bytes.Buffer
	err := w.object.Encode(collection(namespace, n), &b)
	return b.Bytes(), err
}

// initial are the events that begin a watch-list, bookmark included.
func (w *wire) initial(namespace string, n, rv int) ([]byte, error) {
	var b bytes.Buffer
	list := collection(namespace, n)
	for i := range list.Items {
		if err := w.frame(&b, "ADDED", &list.Items[i]); err != nil {
			return nil, err
		}
	}
	err := w.frame(&b, "BOOKMARK", bookmark(rv, true))
	return b.Bytes(), err
}

// later is a bookmark as a watch gets one about once a minute.
func (w *wire) later(rv int) ([]byte, error) {
	var b bytes.Buffer
	err := w.frame(&b, "BOOKMARK", bookmark(rv, false))
	return b.Bytes(), err
}

func (w *wire) frame(to *bytes.Buffer, eventType string, obj *corev1.ConfigMap) error {
	obj.APIVersion, obj.Kind = "v1", "ConfigMap"
	var raw bytes.Buffer
	if err := w.object.Encode(obj, &raw); err != nil {
		return err
	}
	frames := streaming.NewEncoder(protobuf.LengthDelimitedFramer.NewFrameWriter(to), w.event)
	return frames.Encode(&metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: raw.Bytes()}})
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/chromedp"

	"snowfence.example/snowfence/bench/serving"
)

// turn has the measurements of one turn, each for a second.
type turn struct{ ids, cores, requests, updates float64 }

// turn mints while that many pages are open. One of many is a browser's.
func (b *bench) turn(ctx context.Context, pages int) (t turn, err error) {
	const every = 2 * time.Second // as in page.mjs of a large state
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	var ids, updates atomic.Int64
	failed := make(chan error, pages+1)
	all.Go(func() { failed <- b.mint(ctx, &ids) })
	if pages > 1 {
		pages--
		tab, end := chromedp.NewContext(b.browser, chromedp.WithNewBrowserContext())
		defer end()
		if err := chromedp.Do(tab, chromedp.Navigate(b.daemon.URL())); err != nil {
			return t, err
		}
	}
	for i := range pages {
		all.Go(func() { failed <- b.follow(ctx, &updates, every*time.Duration(i)/time.Duration(pages), every) })
	}
	time.Sleep(every) // all pages are open then
	for _, sign := range []float64{-1, 1} {
		etcd, err := serving.Metrics(ctx, &b.client, b.etcd)
		daemon, wrong := serving.Metrics(ctx, &b.client, b.daemon.URL())
		if err := errors.Join(err, wrong); err != nil {
			return t, err
		}
		sign /= each.Seconds()
		t.ids, t.updates = t.ids+sign*float64(ids.Load()), t.updates+sign*float64(updates.Load())
		t.cores, t.requests = t.cores+sign*daemon["process_cpu_seconds_total"], t.requests+sign*etcd["grpc_server_handled_total"]
		b.memory = max(b.memory, daemon["process_resident_memory_bytes"])
		if sign < 0 {
			select {
			case err := <-failed:
				return t, err
			case <-time.After(each):
			}
		}
	}
	return t, nil
}

// get asks for a path, unless it still has that tag.
func (b *bench) get(ctx context.Context, path, known string) (size int, tag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.daemon.URL()+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("If-None-Match", known)
	response, err := b.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	n, err := io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNotModified {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return int(n), response.Header.Get("ETag"), errors.Join(err, response.Body.Close())
}

// follow asks as an open page does, until the context ends.
func (b *bench) follow(ctx context.Context, updates *atomic.Int64, pause, every time.Duration) error {
	tag := ""
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		var err error
		if _, tag, err = b.get(ctx, "/ui/state", tag); err == nil && i%5 == 0 {
			_, _, err = b.get(ctx, "/ui/history", "")
		}
		if err != nil {
			return err
		}
		updates.Add(1)
		pause = every
	}
}

// mint keeps requests for a hundred ids under way on one connection, until the context ends.
func (b *bench) mint(ctx context.Context, ids *atomic.Int64) error {
	const lines = 2*100 + 1 // of an answer
	command := []byte("ID.NEXT load COUNT 100\r\n")
	var dialer net.Dialer
	link, err := dialer.DialContext(ctx, "tcp", b.daemon.Addresses["redis"])
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = link.Close() })()
	_, err = link.Write(bytes.Repeat(command, 16))
	var n, seen, answered int
	for chunk := make([]byte, 1<<16); err == nil; {
		if n, err = link.Read(chunk); bytes.IndexByte(chunk[:n], '-') >= 0 {
			return fmt.Errorf("mint: %s", chunk[:n])
		}
		seen += bytes.Count(chunk[:n], []byte("\n"))
		if complete := seen/lines - answered; err == nil && complete > 0 {
			answered += complete
			ids.Add(int64(100 * complete))
			_, err = link.Write(bytes.Repeat(command, complete))
		}
	}
	return err
}

func (b *bench) openBrowser(ctx context.Context) (quit func(), err error) {
	allocator, end := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)...)
	b.browser, _ = chromedp.NewContext(allocator)
	if err := chromedp.Do(b.browser); err != nil {
		end()
		return nil, fmt.Errorf("start chromium, which the Debian package of that name has: %w", err)
	}
	return func() { _ = chromedp.Cancel(b.browser); end() }, nil
}

// paint opens the page with an empty cache. It returns when the page was answered, and its first and its largest content painted, in
// milliseconds.
func (b *bench) paint() (times [3]float64, err error) {
	tab, end := chromedp.NewContext(b.browser, chromedp.WithNewBrowserContext())
	defer end()
	const script = `new Promise(done => new PerformanceObserver(list => done([performance.getEntriesByType("navigation")[0].responseEnd,
		performance.getEntriesByName("first-contentful-paint")[0].startTime, list.getEntries().at(-1).startTime])).observe({type: "largest-contentful-paint", buffered: true}))`
	if err := chromedp.Do(tab, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.daemon.URL())); err != nil {
		return times, err
	}
	return chromedp.Run(tab, chromedp.Evaluate[[3]float64](script, chromedp.EvalAwaitPromise))
}

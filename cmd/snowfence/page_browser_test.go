//go:build servers

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"snowfence.example/snowfence/internal/testkit"
)

// This file has the browser of the page's tests. A tab fails its test for each error or warning of the console, for
// each violation of the policy for content, and for each request to another host.

// chromium is the one browser of all these tests. The program of Debian needs no sandbox where root runs it.
var chromium = sync.OnceValues(func() (context.Context, error) {
	allocator, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)...)
	ctx, _ := chromedp.NewContext(allocator)
	lifetime.Cleanup(func() { _ = chromedp.Cancel(ctx); end() })
	return ctx, chromedp.Do(ctx)
})

// tab is a page that the browser shows, with cookies and settings of its own.
type tab struct {
	t     *testing.T
	ctx   context.Context
	hosts []string // that it may ask

	mu     sync.Mutex
	faults []string
}

// newTab opens a tab of a size, which may ask the hosts of URLs. It shows nothing yet.
func newTab(t *testing.T, width, height int64, urls ...string) *tab {
	t.Helper()
	browser, err := chromium()
	if err != nil {
		t.Fatalf("%v\nmake test-servers installs chromium", err)
	}
	b := &tab{t: t}
	for _, u := range urls {
		b.hosts = append(b.hosts, strings.TrimPrefix(u, "http://"))
	}
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.hear))
	b.ctx = ctx
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context of its first step
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height))
	order(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	order(b, network.Enable, network.EnableParams{})
	order(b, log.Enable, cdp.Empty{})
	order(b, audits.Enable, cdp.Empty{})
	t.Cleanup(func() {
		end()
		for _, fault := range b.faults {
			t.Errorf("the browser reports: %s", fault)
		}
	})
	return b
}

// hear notes errors of the page.
func (b *tab) hear(event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		fault = fmt.Sprintf("console.%s", e.Type)
		for _, argument := range e.Args {
			fault += fmt.Sprintf(" %s %s", argument.Value, argument.Description)
		}
	case *runtime.EventExceptionThrown:
		fault = "exception: " + e.ExceptionDetails.Text + fmt.Sprint(e.ExceptionDetails.Exception)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			fault = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if policy := e.Issue.Details.ContentSecurityPolicyIssueDetails; policy != nil {
			fault = fmt.Sprintf("policy: %s %s", policy.ViolatedDirective, policy.BlockedURL)
		}
	case *network.EventRequestWillBeSent:
		if asked, err := url.Parse(e.Request.URL); err != nil || asked.Scheme != "data" && !slices.Contains(b.hosts, asked.Host) {
			fault = "request: " + e.Request.URL
		}
	case *network.EventWebSocketCreated:
		fault = "socket: " + e.URL
	}
	if fault != "" && b.t.Context().Err() == nil { // else the test is over, and its daemons are killed
		b.mu.Lock()
		defer b.mu.Unlock()
		b.faults = append(b.faults, fault)
	}
}

// do takes steps that must succeed.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, end := context.WithTimeout(b.ctx, testkit.Hang)
	defer end()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// order sends a command of the browser's protocol.
func order[P, R any](b *tab, c cdp.Command[P, R], parameters P) R {
	b.t.Helper()
	ctx, end := context.WithTimeout(b.ctx, testkit.Hang)
	defer end()
	result, err := chromedp.Call(ctx, c, parameters)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// open goes to an address.
func (b *tab) open(address string) { b.t.Helper(); b.do(chromedp.Navigate(address)) }

// follow goes to a daemon's page, and waits until its script shows the state, the history and a plan.
func (b *tab) follow(d *testkit.Daemon, query string) *tab {
	b.t.Helper()
	b.open(d.URL + "/" + query)
	b.await(`document.querySelector("#legend li") && document.querySelector("#rates canvas") && document.querySelector("#planned .copy")`)
	return b
}

// keys presses keys.
func (b *tab) keys(keys string) { b.t.Helper(); b.do(chromedp.KeyEvent(keys)) }

// press presses a button, by its selector, and by the keyboard: a mouse may miss, if the page grows between its aim and its click.
func (b *tab) press(selector string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), kb.Enter))
}

// js evaluates an expression of JavaScript, which may be a promise.
func js[T any](b *tab, format string, arguments ...any) T {
	b.t.Helper()
	value, err := tryJS[T](b, format, arguments...)
	if err != nil {
		b.t.Fatalf("%s: %v", format[:min(len(format), 300)], err)
	}
	return value
}

// tryJS is js of an expression that may fail, such as while another page loads. Arguments are put in as JSON.
func tryJS[T any](b *tab, format string, arguments ...any) (T, error) {
	for i, argument := range arguments {
		text, err := json.Marshal(argument)
		if err != nil {
			b.t.Fatal(err)
		}
		arguments[i] = text
	}
	if len(arguments) > 0 {
		format = fmt.Sprintf(format, arguments...)
	}
	ctx, end := context.WithTimeout(b.ctx, testkit.Hang)
	defer end()
	return chromedp.Run(ctx, chromedp.Evaluate[T](format, chromedp.EvalAwaitPromise))
}

// await waits until an expression is true.
func (b *tab) await(format string, arguments ...any) {
	b.t.Helper()
	testkit.Eventually(b.t, func(context.Context) error {
		if met, err := tryJS[bool](b, "Boolean("+format+")", slices.Clone(arguments)...); err != nil || !met {
			body, _ := tryJS[string](b, `document.body.innerText.slice(0, 3000)`)
			return fmt.Errorf("%s %v is %t (%w), with a page of %s", format, arguments, met, err, body)
		}
		return nil
	})
}

// text is the visible text of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return js[string](b, `document.querySelector(%s).innerText.trim()`, selector)
}

// scriptless turns JavaScript off.
func (b *tab) scriptless() {
	b.t.Helper()
	order(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// The search runs in a worker, which browsers refuse to pages that were opened from the disk. There it runs in a frame.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(script) {
            super();
            this.onmessage = null;
            const frame = document.createElement("iframe");
            frame.hidden = true;
            frame.title = "search";
            document.body.appendChild(frame);
            this.inside = frame.contentWindow;
            this.inside.postMessage = data => {
                const event = new MessageEvent("message", { data });
                this.dispatchEvent(event);
                this.onmessage?.(event);
            };
            const code = frame.contentDocument.createElement("script");
            code.src = script;
            // Messages wait for the code that takes them.
            this.ready = new Promise(done => (code.onload = done));
            frame.contentDocument.body.appendChild(code);
        }
        postMessage(data) {
            this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
        }
        terminate() {}
    };
}

use pickfs_serve::{Server, Settings};

use crate::{args::ServeArgs, exit::Exit, screen::next_step, terminal};

pub fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    let settings = Settings {
        token: args.token.clone(),
        next: next_step,
        ..Settings::new(&args.folder, args.listen)
    };
    let server = Server::bind(settings)?;
    terminal::put(&format!("{}\n", server.first_link()));
    terminal::put(&format!("runs of {}, read-only; Ctrl-C ends it\n", args.folder.display()));
    if !server.address().ip().is_loopback() {
        terminal::put(
            "the token goes over the network in plain text; where others may listen, leave \
             --listen out and open a tunnel: ssh -L 7433:localhost:7433 THIS-HOST\n",
        );
    }
    server.serve();
    Ok(Exit::Done)
}

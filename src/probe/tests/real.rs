//! A real server (`rmcp`) in the process, at each date it speaks.

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use tokio::task::JoinSet;

use super::*;
use crate::model::observation::{DetectionState, Era, Outcome};
use crate::probe::dates;

#[derive(Clone, Debug)]
struct Tickets {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Tickets {
    #[tool(description = "Lists the open tickets.")]
    fn list_tickets(&self) -> String {
        String::new()
    }

    #[tool(description = "Closes a ticket.")]
    fn close_ticket(&self) -> String {
        String::new()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Tickets {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_instructions("Tickets.")
    }
}

async fn serve() -> (Url, JoinSet<()>) {
    let service = StreamableHttpService::new(
        || Ok(Tickets { tool_router: Tickets::tool_router() }),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
    let app = axum::Router::new().nest_service("/mcp", service);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, tasks)
}

#[tokio::test]
async fn a_real_server_is_read_at_each_date_and_survives_it() {
    let (url, _tasks) = serve().await;
    for date in [dates::MODERN].into_iter().chain(dates::LEGACY) {
        for second_read in [SecondRead::Fresh, SecondRead::Same, SecondRead::Same] {
            let seen = Scan { date: Some(date), second_read, ..scan(&url) }.run().await;
            assert_eq!(seen.outcome, Outcome::Ok, "{date}: {:?}", seen.sights);
            assert_eq!(seen.mcp.state, DetectionState::Confirmed, "{date}");
            assert_eq!(seen.mcp.version.as_deref(), Some(date));
            let era = if date == dates::MODERN { Era::Stateless } else { Era::Session };
            assert_eq!(seen.mcp.era, Some(era), "{date}");
            for mut names in tools(&seen) {
                names.sort();
                assert_eq!(names, ["close_ticket", "list_tickets"], "{date}");
            }
        }
    }
}

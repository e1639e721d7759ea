//! The `rmcp` SDK as a peer in this process: three tools, all five protocol dates, or only some of them.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use rmcp::ServerHandler;
use rmcp::model::{
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{MaybeSendFuture, RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::server::Server;

/// A running server on the SDK.
#[derive(Debug)]
pub(crate) struct RmcpPeer {
    server: Server,
    handler: ThreeTools,
}

impl RmcpPeer {
    /// A server of every date that the SDK knows.
    pub(crate) async fn start() -> Self {
        Self::start_with(ThreeTools { dates: ProtocolVersion::KNOWN_VERSIONS.to_vec() }).await
    }

    /// A server of one legacy date, which it answers whatever it is offered.
    pub(crate) async fn start_of(date: ProtocolVersion) -> Self {
        Self::start_with(ThreeTools { dates: vec![date] }).await
    }

    async fn start_with(handler: ThreeTools) -> Self {
        Self { server: Server::start(handler.router()).await, handler }
    }

    /// Its MCP endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.server.port())
    }

    /// The same server again, at the same address, with no memory of its sessions.
    pub(crate) async fn restart(&mut self) {
        self.server.down().await;
        self.server.replace(self.handler.router());
        self.server.up().await;
    }
}

#[derive(Clone, Debug)]
struct ThreeTools {
    dates: Vec<ProtocolVersion>,
}

impl ThreeTools {
    fn router(&self) -> Router {
        let config = StreamableHttpServerConfig::default().with_sse_keep_alive(None);
        let handler = self.clone();
        let service: StreamableHttpService<Self, LocalSessionManager> =
            StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config);
        Router::new().nest_service("/mcp", service)
    }
}

impl ServerHandler for ThreeTools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("three-tools", "1.4.0"))
            .with_instructions("Counts words, shifts dates and converts temperatures.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Owned(self.dates.clone())
    }

    fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, rmcp::ErrorData>> + MaybeSendFuture + '_ {
        std::future::ready(Ok(ListToolsResult::with_all_items(tools())))
    }
}

fn tools() -> Vec<Tool> {
    vec![
        Tool::new("count_words", "Counts the words of a text.", schema(&json!({"text": {"type": "string"}}), "text")),
        Tool::new(
            "shift_date",
            "Gives the date that lies a number of days after another.",
            schema(&json!({"day": {"type": "string"}, "days": {"type": "integer"}}), "day"),
        ),
        Tool::new(
            "to_fahrenheit",
            "Converts a temperature from degrees Celsius to degrees Fahrenheit.",
            schema(&json!({"celsius": {"type": "number"}}), "celsius"),
        ),
    ]
}

fn schema(properties: &Value, required: &str) -> JsonObject {
    let schema = json!({"type": "object", "properties": properties, "required": [required]});
    serde_json::from_value(schema).unwrap()
}

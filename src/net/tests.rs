mod guard;
mod wire;

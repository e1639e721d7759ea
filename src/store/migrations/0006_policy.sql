-- Why a drift is recorded and never told: an `ignore` of the inventory, or a severity of `off`. A document.
ALTER TABLE drift ADD COLUMN suppressed TEXT;
